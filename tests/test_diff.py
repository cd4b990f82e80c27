"""Two results compared rung by rung, and the gate for CI."""

import json
from dataclasses import replace

import numpy as np
import pytest
from lenet_bench import diff, summarise
from lenet_bench.errors import LenetBenchError
from lenet_bench.results import ResultFile, RungResult, Turn
from sample_results import ROUNDS, rung, sample_result


def noisy(name, us, noise, seed=0):
    """A rung whose starts differ by about that share."""
    factors = 1 + noise * np.random.default_rng(seed).standard_normal(ROUNDS)
    turns = tuple(
        Turn(n, 0.1 * n, 10**9, 10**9, 0, 0, (round(us * 1000 * factor),) * 50)
        for n, factor in enumerate(factors)
    )
    return replace(rung(name, us), turns=turns)


def result(*rungs, **changes):
    """A run of these rungs."""
    return summarise(replace(sample_result(), rungs=rungs, **changes))


def changed(found, name):
    """What became of that rung."""
    return next(change for change in found.changes if change.name == name)


OLD = result(rung("a", 100), rung("b", 200), rung("c", 400))


def test_a_slower_rung_has_its_ratio_and_verdict():
    found = changed(diff(OLD, result(rung("a", 110), rung("b", 200))), "a")
    assert found.ratio == pytest.approx(1.1, rel=1e-3)
    assert found.became == "slower"
    assert changed(diff(OLD, OLD), "b").became == "same"


def test_a_slowdown_beyond_the_threshold_regresses():
    new = result(rung("a", 106), rung("b", 200), rung("c", 416))
    assert diff(OLD, new, fail_over=0.05).regressed == ["a"]


def test_without_a_threshold_nothing_regresses():
    assert diff(OLD, result(rung("a", 300))).regressed == []


def test_a_slowdown_that_may_be_noise_does_not_regress():
    old, new = result(noisy("a", 100, 0.3)), result(noisy("a", 112, 0.3, seed=2))
    found = diff(old, new, fail_over=0.05)
    assert found.regressed == []
    assert changed(found, "a").became == "ambiguous"


def test_a_gate_that_is_blind_says_from_where_on_it_sees():
    old, new = result(noisy("a", 100, 0.3)), result(noisy("a", 100, 0.3, seed=1))
    (note,) = diff(old, new, fail_over=0.05).notes
    assert note.startswith("too noisy for 5%: a (fails from ")


def test_a_slowdown_from_where_on_it_is_said_to_fail_does_fail():
    change = changed(diff(result(noisy("a", 100, 0.1)), result(noisy("a", 100, 0.1, 1))), "a")
    least = (1 + 0.05) * (1 + change.noise) / change.ratio
    for factor, regressed in ((0.99, []), (1.01, ["a"])):
        new = result(noisy("a", 100 * least * factor, 0.1, 1))
        assert diff(result(noisy("a", 100, 0.1)), new, fail_over=0.05).regressed == regressed


def test_a_rung_that_broke_regresses_with_its_reason():
    new = result(rung("a", 100), RungResult("b", "crashed", reason="it fell"), rung("c", 400))
    found = diff(OLD, new, fail_over=0.5)
    assert found.regressed == ["b"]
    assert changed(found, "b").became == "broken"
    assert changed(found, "b").reason == "it fell"


def test_a_rung_that_was_broken_before_does_not_regress():
    broken = RungResult("b", "wrong", reason="no")
    old = result(rung("a", 100), broken)
    assert diff(old, old, fail_over=0.05).regressed == []
    assert changed(diff(old, old), "b").became == "failing"
    assert changed(diff(old, OLD), "b").became == "mended"


def test_rungs_in_one_result_only_are_listed():
    found = diff(result(rung("a", 100), rung("old", 1)), result(rung("a", 100), rung("new", 1)))
    assert changed(found, "old").became == "removed"
    assert changed(found, "new").became == "added"


def test_the_worst_rung_is_first():
    new = result(rung("a", 100), rung("b", 220), rung("c", 800))
    assert [change.name for change in diff(OLD, new).changes] == ["c", "b", "a"]


def test_relative_compares_ratios_to_the_baseline():
    """A machine that is half as fast, on which one rung is slower still."""
    new = result(rung("a", 200), rung("b", 400), rung("c", 1000))
    found = diff(OLD, new, relative=True, fail_over=0.05)
    assert (found.baseline, found.regressed) == ("a", ["c"])
    assert changed(found, "c").old == pytest.approx(4, rel=1e-3)
    assert changed(found, "c").ratio == pytest.approx(1.25, rel=1e-3)


def test_the_baseline_can_be_named():
    assert diff(OLD, OLD, baseline="b").baseline == "b"


def test_a_baseline_that_is_not_in_both_is_refused():
    with pytest.raises(LenetBenchError, match=r"baseline a is not ok in both .*: b$"):
        diff(OLD, result(rung("b", 200)), baseline="a")


def test_results_without_a_common_rung_are_refused():
    with pytest.raises(LenetBenchError, match="no rung that is ok in both"):
        diff(OLD, result(rung("z", 1)), fail_over=0.05)


def test_too_few_starts_are_ambiguous_and_told():
    short = replace(OLD.rungs[0], turns=OLD.rungs[0].turns[:5])
    found = diff(OLD, result(short), fail_over=0.05)
    assert changed(found, "a").became == "ambiguous"
    assert any("fewer than 6 starts" in note and "a;" in note for note in found.notes)


def test_a_rung_that_was_started_once_is_told():
    once = replace(rung("a", 100), cold_starts=rung("a", 100).cold_starts[:1])
    (note,) = diff(OLD, result(once, rung("b", 200))).notes
    assert note.startswith("started fewer than 6 times, since that is slow: a;")


def test_another_machine_is_told_and_relative_is_offered():
    new = replace(OLD, machine={"processor": {"model": "other"}})
    found = diff(OLD, new)
    assert found.circumstances[0].new == "other"
    assert any("--relative" in note for note in found.notes)
    assert not any("--relative" in note for note in diff(OLD, new, relative=True).notes)


@pytest.mark.parametrize(
    ("rule", "value", "told"),
    [
        ("threads", 4, "threads"),
        ("weights_sha256", "1" * 64, "weights (SHA-256)"),
        ("interval_s", 0.1, "idle time before a call, s"),
        ("timed_s", 0.01, "length of a turn, s"),
        ("variables", {"OMP_NUM_THREADS": "4"}, "$OMP_NUM_THREADS"),
    ],
)
def test_rules_that_differ_are_told(rule, value, told):
    new = replace(OLD, rules=replace(OLD.rules, **{rule: value}))
    assert [one.what for one in diff(OLD, new).circumstances] == [told]


def test_versions_that_differ_are_told():
    software = {"software": {"packages": {"keras": "3.0"}}}
    old, new = replace(OLD, machine={}), replace(OLD, machine=software, version="0.2.0")
    assert [one.what for one in diff(old, new).circumstances] == ["lenet-bench", "keras"]


def test_what_really_ran_is_told_where_it_differs():
    old, new = (result(replace(rung("a", 9), runs={"isa": isa})) for isa in ("avx2", "avx512"))
    (found,) = diff(old, new).circumstances
    assert (found.what, found.old, found.new) == ("a's isa", "avx2", "avx512")


def test_all_rungs_moving_together_is_told():
    new = result(rung("a", 130), rung("b", 260), rung("c", 520))
    assert any(note.startswith("every rung became slower") for note in diff(OLD, new).notes)


@pytest.fixture
def files(tmp_path):
    """OLD, and a result in which `a` is slower and `c` broke."""
    ResultFile(tmp_path / "old.json").write(OLD)
    broken = RungResult("c", "crashed", reason="it fell")
    ResultFile(tmp_path / "new.json").write(result(rung("a", 110), rung("b", 200), broken))
    return tmp_path / "old.json", tmp_path / "new.json"


def test_the_command_fails_over_the_threshold(run, files):
    done = run("diff", *files, "--fail-over", "5%")
    assert done.code == 1
    assert "c: was ok, is crashed: it fell" in done.output
    assert "failed: slower by more than 5%, or broken: a, c" in done.output


def test_the_command_passes_below_the_threshold(run, files):
    done = run("diff", files[0], files[0], "--fail-over", "5%")
    assert done.code == 0
    assert "passed: no rung is slower by more than 5%" in done.output


def test_the_command_without_a_threshold_only_tells(run, files):
    assert run("diff", *files).code == 0


@pytest.mark.parametrize("columns", [40, 80])
def test_no_line_is_wider_than_the_terminal(run, files, columns):
    lines = run("diff", *files, COLUMNS=str(columns)).output.splitlines()
    assert max(map(len, lines)) <= columns


def test_json_has_every_rung(run, files):
    found = json.loads(run("diff", *files, "--fail-over", "5%", "--json").output)
    assert found["regressed"] == ["a", "c"]
    assert {rung["name"]: rung["became"] for rung in found["rungs"]} == {
        "a": "slower",
        "b": "same",
        "c": "broken",
    }


def test_markdown_has_a_table(run, files):
    lines = run("diff", *files, "--markdown").output.splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 4


def test_a_threshold_that_is_no_share_is_misuse(run, files):
    assert run("diff", *files, "--fail-over", "0").code == 2
