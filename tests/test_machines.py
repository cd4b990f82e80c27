"""Many results together: a row a machine, in a terminal, as JSON and on a page."""

import re
from dataclasses import replace as changed
from pathlib import Path

import pytest
from browsers import PHONE
from lenet_bench import units
from lenet_bench.questions.machines import measured_machines
from lenet_bench.questions.share import given
from lenet_bench.results import read_result
from lenet_bench.results.machine import Machine, Processor
from lenet_bench.show.machines import columns
from lenet_bench.show.page.machines import page
from sample_results import blocks, log, write_log

ROOT = Path(__file__).parents[1]
#: Of two machines with different names.
COMMITTED = [
    ROOT / f"results/cpu/{name}.jsonl.gz" for name in ("epyc-2026-11-24", "xeon-2026-11-21")
]
HOSTILE = "<img src=x onerror='window.hacked = 1'>"


def machine_log(model, factor=1.0, names=("fused", "onednn", "keras"), **rules):
    """A result of that machine, which is so many times slower."""
    rows = [blocks(name, 20 * factor * 3**n) for n, name in enumerate(names)]
    return log(*rows, machine=Machine(Processor(model=model, logical=4)), **rules)


@pytest.fixture(scope="module")
def shared():
    return given(COMMITTED[0])


@pytest.fixture
def folder(tmp_path, shared):
    """Three results, one of them shared."""
    write_log(tmp_path / "a.jsonl", machine_log("Fast 1000"))
    write_log(tmp_path / "b.jsonl", machine_log("Slow 10", 4.0, ("fused", "onednn")))
    (tmp_path / shared.name).write_bytes(shared.content)
    return tmp_path


def test_the_medians_are_those_of_the_results(folder):
    for path in (COMMITTED[0], folder / "a.jsonl"):
        (one,), refused = measured_machines([path])
        assert refused == []
        result = read_result(path)
        timed = {row.name: row.summary for row in result.backends if row.status == "ok"}
        assert {name: (found.us, found.starts) for name, found in one.times.items()} == {
            name: (summary.p50_us, summary.starts)
            for name, summary in timed.items()
            if summary.p50_us
        }


def test_the_table_has_a_row_a_machine(folder, run_here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = run_here("machines", folder)
    assert done.code == 0
    lines = {line[:9]: line for line in done.output.splitlines()}
    assert "20.0 µs" in lines["Fast 1000"]
    assert "80.0 µs" in lines["Slow 10  "]
    assert "fused" in lines["machine  "]
    two = run_here("machines", folder, "-b", "fused", "-b", "keras").output
    assert re.search(r"Fast 1000 +20\.0 µs +180 µs", two)


def test_two_results_of_one_machine_are_one_machine(run_here, tmp_path):
    for name, made in (("old", machine_log("Fast 1000")), ("new", machine_log("Fast 1000", 2))):
        write_log(tmp_path / name, made)
    old, new, other = (tmp_path / name for name in ("old", "new", "other"))
    assert "\n1 machine; median" in run_here("machines", old).output
    both = run_here("machines", old, new).output
    assert "\n2 results of 1 machine, where equal ones" in both
    for path in (old, new):  # a narrow table leaves out other columns first
        assert re.search(rf"^Fast 1000 .*/{path.name}$", both, re.MULTILINE)
    write_log(other, machine_log("Slow 10"))
    assert "\n2 machines; median" in run_here("machines", old, other).output


def test_a_file_that_cannot_be_read_costs_its_own_row(folder, run_here):
    (folder / "broken.jsonl").write_text("{}")
    done = run_here("machines", folder, "--json")
    assert done.code == 1
    assert "broken.jsonl" in done.errors
    found = done.answer
    assert [re.sub(".*/", "", one)[:12] for one in found["refused"]] == ["broken.jsonl"]
    assert len(found["machines"]) == 3
    fast = next(one for one in found["machines"] if one["processor"] == "Fast 1000")
    assert fast["backends"]["keras"] == {
        "us": pytest.approx(180, rel=1e-3),
        "starts": 12,
    }


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ({"interval_s": 0.02, "cold_mb": 64}, "--interval and --cold"),
        ({"beside": 1}, "--beside"),
        ({"quota": 1.5}, "--quota"),
    ],
)
def test_calls_under_other_conditions_are_refused(tmp_path, rules, options):
    write_log(tmp_path / "r.jsonl", machine_log("Fast 1000", **rules))
    found, (refused,) = measured_machines([tmp_path / "r.jsonl"])
    assert found == []
    assert f"r.jsonl: was measured with {options}, and" in refused


def test_what_cannot_be_shown_is_said(folder, run_here):
    done = run_here("machines", folder / "no-such-folder")
    assert done.code == 1
    assert "No such file" in done.errors


def test_a_checkouts_results_are_found_by_themselves(run_here, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = run_here("machines")
    assert done.code == 1
    assert "no results" in done.errors
    monkeypatch.chdir(ROOT)
    done = run_here("machines", "--json")
    assert done.code == 0
    assert len(done.answer["machines"]) >= len(COMMITTED)


def test_of_a_backend_its_fastest_variant_stands():
    rows, _ = measured_machines(COMMITTED)
    names = columns(rows)
    assert "fused" in names
    assert len({name.partition(":")[0] for name in names}) == len(names)
    assert set(names) < set(columns(rows, every=True))


def of_fused(path):
    """Its median, and its ratio to onednn's, as they are spelt."""
    result = read_result(path)
    us, base = (result.backend(name).summary.p50_us for name in ("fused", "onednn"))
    return units.time(us), units.ratio(us / base)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Two machines, and one with a hostile name."""
    folder = tmp_path_factory.mktemp("machines")
    rows, _ = measured_machines(COMMITTED)
    spoilt = Processor(model=HOSTILE)
    hostile = [changed(rows[0], processor=spoilt, gpu=HOSTILE, version=HOSTILE)]
    for name, found in {"two": rows, "hostile": hostile}.items():
        (folder / f"{name}.html").write_text(page(found), encoding="utf-8")
    return folder


@pytest.fixture
def see(visit, pages):
    return lambda name, **options: visit((pages / f"{name}.html").as_uri(), **options)


def cells_of(tab, name):
    """The visible cells of the backend's column, from the top."""
    return tab.evaluate(
        """name => {
          const heads = [...machines.tHead.rows[0].cells];
          const column = heads.findIndex(head => head.textContent === name);
          return [...machines.tBodies[0].rows].filter(row => !row.hidden)
            .map(row => row.cells[column].textContent);
        }""",
        name,
    )


def test_the_page_sorts_times_or_ratios(see):
    tab = see("two")
    times, ratios = zip(*map(of_fused, COMMITTED), strict=True)
    assert cells_of(tab, "fused") == list(times)
    tab.get_by_role("button", name="fused", exact=True).click()
    assert cells_of(tab, "fused") == sorted(times, key=lambda us: float(us.split()[0]))
    tab.locator("#unit").select_option("ratios to onednn")
    assert set(cells_of(tab, "onednn")) == {"1.00"}
    assert sorted(cells_of(tab, "fused")) == sorted(ratios)
    assert "onednn's" in tab.locator("caption").inner_text()


def test_the_page_filters(see):
    tab = see("two")
    assert not tab.get_by_role("button", name="keras:call", exact=True).is_visible()
    tab.locator("#variants").check()
    assert tab.get_by_role("button", name="keras:call", exact=True).is_visible()
    tab.locator("#filter").fill("keras")
    assert not tab.get_by_role("button", name="fused", exact=True).is_visible()
    tab.get_by_label("machine", exact=True).select_option("AMD EPYC")
    assert len(cells_of(tab, "keras")) == 1
    assert tab.locator("#shown").inner_text() == "1 of 2"


def test_a_hostile_name_is_text(see):
    tab = see("hostile")
    assert tab.evaluate("window.hacked") is None
    assert HOSTILE in tab.locator("#machines tbody").inner_text()


def test_a_phone_is_wide_enough_but_for_the_table_in_its_box(see):
    tab = see("two", viewport=PHONE)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_no_script_is_needed(see):
    tab = see("two", java_script_enabled=False)
    assert tab.locator("noscript").is_visible()
    p50_us = read_result(COMMITTED[0]).backend("fused").summary.p50_us
    assert f"{p50_us:.4g}" in tab.locator("#machines tbody").inner_text()
    assert not tab.locator("#controls").is_visible()
