"""Two results compared backend by backend, and the gate for CI."""

import os
import re
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from lenet_bench import diff
from lenet_bench.errors import LenetBenchError
from lenet_bench.results import as_result, read_result
from lenet_bench.results.machine import Machine, Processor, Software
from lenet_bench.results.thin import thinned
from msgspec.structs import replace as changed_block
from processes import ran
from sample_results import (
    QUIET_SLICES,
    ROUNDS,
    SLOW_SLICES,
    blocks,
    failed,
    log,
    log_in_halves,
    quiet_in,
    result,
    timed_starts,
    write_log,
)


def noisy(name, us, noise, seed=0):
    """A backend whose starts differ by about that share."""
    factors = 1 + noise * np.random.default_rng(seed).standard_normal(ROUNDS)
    return timed_starts(name, *us * factors)


def changed(found, name):
    return next(change for change in found.changes if change.name == name)


ROWS = blocks("a", 100), blocks("b", 200), blocks("c", 400)
OLD = result(*ROWS)


def test_a_slower_backend_has_its_ratio():
    found = changed(diff(OLD, result(blocks("a", 110), blocks("b", 200))), "a")
    assert found.ratio == pytest.approx(1.1, rel=1e-3)
    assert found.became == "slower"


def test_a_result_is_the_same_as_itself():
    same = diff(OLD, OLD)
    for row in OLD.backends:
        assert changed(same, row.name).became == "same"
        assert changed(same, row.name).old == row.summary.p50_us


def test_the_worst_is_first():
    new = result(blocks("a", 100), blocks("b", 220), blocks("c", 800))
    assert [change.name for change in diff(OLD, new).changes] == ["c", "b", "a"]


def test_a_slowdown_beyond_the_threshold_regresses():
    new = result(blocks("a", 106), blocks("b", 200), blocks("c", 416))
    assert diff(OLD, new, fail_over=0.05).regressed == ["a"]
    assert diff(OLD, result(blocks("a", 300))).regressed == [], "without a threshold"


def test_a_slowdown_that_may_be_noise_does_not_regress():
    old, new = result(noisy("a", 100, 0.3)), result(noisy("a", 112, 0.3, seed=2))
    found = diff(old, new, fail_over=0.05)
    assert found.regressed == []
    assert changed(found, "a").became == "ambiguous"


def test_a_gate_that_noise_blinds_says_so():
    old, new = result(noisy("a", 100, 0.3)), result(noisy("a", 100, 0.3, seed=1))
    (note,) = diff(old, new, fail_over=0.05).notes
    assert note.startswith("too noisy to show a slowdown of 5 %")


def test_what_noise_cannot_have_made_slower_is_not_called_noisy():
    old, new = result(noisy("a", 100, 0.1)), result(noisy("a", 50, 0.1, seed=1))
    found = diff(old, new, fail_over=0.05)
    assert found.undecided == []
    (note,) = found.notes
    assert note.startswith("between two runs a machine itself becomes")


def test_a_slowdown_fails_from_where_on_it_exceeds_the_noise():
    change = changed(diff(result(noisy("a", 100, 0.1)), result(noisy("a", 100, 0.1, 1))), "a")
    least = (1 + 0.05) / change.ratio_low
    for factor, regressed in ((0.99, []), (1.01, ["a"])):
        new = result(noisy("a", 100 * least * factor, 0.1, 1))
        assert diff(result(noisy("a", 100, 0.1)), new, fail_over=0.05).regressed == regressed


def test_a_backend_that_broke_regresses_with_its_reason():
    new = result(blocks("a", 100), failed("b", "crashed", "it fell"), blocks("c", 400))
    found = diff(OLD, new, fail_over=0.5)
    assert found.regressed == ["b"]
    assert changed(found, "b").became == "broken"
    assert changed(found, "b").reason == "it fell"


def test_a_backend_that_was_broken_before_does_not_regress():
    old = result(blocks("a", 100), failed("b", "wrong", "no"), blocks("old", 1))
    assert diff(old, old, fail_over=0.05).regressed == []
    assert changed(diff(old, old), "b").became == "failing"
    found = diff(old, OLD)
    became = {name: changed(found, name).became for name in ("b", "old", "c")}
    assert became == {"b": "mended", "old": "removed", "c": "added"}


def test_what_new_has_no_figure_of_is_undecided():
    few = blocks("b", 200, rounds=1, samples_ns=(200_000,) * 9)
    new = result(blocks("a", 100), few)
    found = diff(OLD, new, fail_over=0.05, fail_if_noisy=True)
    assert (found.undecided, found.failed) == (["b", "c"], True)
    gone, unknown = found.notes
    assert gone.startswith("NEW lacks backends that ran in OLD: c;")
    assert unknown.startswith("too few calls for a median of: b;")
    failing = result(blocks("a", 100), failed("c", "wrong", "no"))
    assert diff(failing, result(blocks("a", 100)), fail_over=0.05).undecided == []


def test_relative_compares_ratios_to_the_baseline():
    """A machine that is half as fast, on which one backend is slower still."""
    new = result(blocks("a", 200), blocks("b", 400), blocks("c", 1000))
    found = diff(OLD, new, relative=True, fail_over=0.05)
    assert (found.baseline, found.regressed) == ("a", ["c"])
    assert changed(found, "c").old == pytest.approx(4, rel=1e-3)
    assert changed(found, "c").ratio == pytest.approx(1.25, rel=1e-3)


def test_relative_compares_with_the_baselines_just_before_and_after_a_start():
    quiet, busy = (as_result(log_in_halves(by)) for by in (1, 1.2))
    found = changed(diff(quiet, busy, relative=True), "row")
    assert (found.became, found.new) == ("same", pytest.approx(1.5, rel=1e-3))


def test_the_baseline_can_be_named():
    assert diff(OLD, OLD, baseline="b").baseline == "b"


def test_the_baseline_must_be_in_both():
    with pytest.raises(LenetBenchError, match=r"baseline a is not ok in both .*: b$"):
        diff(OLD, result(blocks("b", 200)), baseline="a")


def test_some_backend_must_be_in_both():
    with pytest.raises(LenetBenchError, match="ok in both"):
        diff(OLD, result(blocks("z", 1)), fail_over=0.05)


def test_calls_that_took_no_time_are_nothing_to_compare():
    nothing = result(blocks("a", 0, samples_ns=(0,) * 50))
    with pytest.raises(LenetBenchError, match="nothing to compare"):
        diff(nothing, OLD)


def test_too_few_starts_are_ambiguous():
    found = diff(OLD, result(blocks("a", 100, rounds=5)), fail_over=0.05)
    assert changed(found, "a").became == "ambiguous"
    assert any("6 starts" in note and "a;" in note for note in found.notes)


def test_disturbed_starts_of_both_runs_or_of_neither_count():
    often, seldom = (result(quiet_in("a", rounds)) for rounds in (range(6), range(7, 12)))
    found = changed(diff(often, seldom), "a")
    assert (found.became, round(found.old), round(found.new)) == ("ambiguous", 23, 26)


def test_on_another_machine_relative_is_offered():
    new = replace(OLD, machine=Machine(Processor(model="other")))
    found = diff(OLD, new)
    assert found.differences[0].new == "other"
    assert any("--relative" in note for note in found.notes)
    assert not any("--relative" in note for note in diff(OLD, new, relative=True).notes)


@pytest.mark.parametrize(
    ("rule", "value", "what"),
    [
        ("threads", 4, "threads"),
        ("weights_sha256", "1" * 64, "weights (SHA-256)"),
        ("interval_s", 0.1, "interval of calls, s"),
        ("cold_mb", 64, "read before a call for cold caches, MB"),
        ("variables", {"OMP_NUM_THREADS": "4"}, "$OMP_NUM_THREADS"),
    ],
)
def test_a_rule_that_differs_is_said(rule, value, what):
    new = result(*ROWS, **{rule: value})
    assert [one.what for one in diff(OLD, new).differences] == [what]


def test_the_state_of_the_machine_is_said_where_both_files_hold_it():
    def on(kernel, **state):
        return replace(OLD, machine=Machine(Processor(**state), software=Software(kernel=kernel)))

    old = on("6.1", governor="powersave", turbo=True, huge_pages="never")
    found = diff(old, on("6.8", governor="performance", turbo=False, time_from="tsc"))
    assert [one.what for one in found.differences] == ["governor", "turbo", "kernel"]
    assert (found.differences[0].old, found.differences[1].new) == ("powersave", "False")
    assert not any("machines differ" in note for note in found.notes)


def test_a_variable_that_no_rule_sets_is_said():
    given = {"OPENBLAS_CORETYPE": "Prescott", "OMP_NUM_THREADS": "4", "KERAS_BACKEND": "jax"}
    new = replace(OLD, machine=Machine(OLD.machine.processor, software=Software(variables=given)))
    (found,) = diff(OLD, new).differences
    assert (found.what, found.old, found.new) == ("$OPENBLAS_CORETYPE", "none", "Prescott")


def test_a_version_that_differs_is_said():
    with_keras = Machine(software=Software(packages={"keras": "3.0"}))
    old, new = replace(OLD, machine=Machine()), replace(OLD, machine=with_keras, version="0.2.0")
    assert [one.what for one in diff(old, new).differences] == ["lenet-bench", "keras"]


def paced_log(tail_us, starts=6, interval_s=0.02):
    """Two backends called every 20 ms; 4 of 170 calls of each take so long."""
    tail = (100_000,) * 166 + (tail_us * 1000,) * 4
    rows = (blocks(name, 100, n, samples_ns=tail) for name, n in (("a", starts), ("b", 6)))
    return log(*rows, interval_s=interval_s)


def paced(*rest, **changes):
    return as_result(paced_log(*rest, **changes))


def test_paced_runs_compare_the_tail():
    """The medians are the same."""
    found = diff(paced(1000), paced(1500), fail_over=0.05)
    one = changed(found, "a")
    assert (one.became, one.p99.became) == ("same", "slower")
    assert (one.p99.old, one.p99.new, one.p99.ratio) == (1000, 1500, 1.5)
    assert one.p99.ratio_low <= 1.5 <= one.p99.ratio_high
    assert found.regressed == ["a", "b"]
    assert changed(diff(paced(1000), paced(1000)), "a").p99.became == "same"


def test_the_tails_count_disturbed_starts_of_both_runs_or_of_neither():
    """Only disturbed calls are late. Thinned files say the same."""

    def late(rounds):
        tail = (100_000,) * 166 + tuple(range(1_000_000, 1_400_000, 100_000))
        calls = {QUIET_SLICES: (100_000,) * 170, SLOW_SLICES: tail}
        row = (
            changed_block(one, samples_ns=calls[one.slices], slices=((170, one.slices[0][1]),))
            for one in quiet_in("a", rounds)
        )
        return log(tuple(row), interval_s=0.02)

    logs = [late(range(6)), late(range(7, 12))]
    found, kept = (changed(diff(*map(as_result, some)), "a") for some in (logs, map(thinned, logs)))
    assert found.p99.became == "ambiguous"
    assert found.p99.ratio < 1.3
    assert kept.p99 == found.p99


def test_the_tail_is_compared_of_two_paced_runs_only():
    back_to_back = paced(1500, interval_s=None)
    for found in (diff(OLD, OLD), diff(paced(1000), back_to_back)):
        assert {one.p99 for one in found.changes} == {None}
    relative = diff(paced(1000), paced(1500), baseline="b")
    assert changed(relative, "a").p99 is None
    assert not relative.notes


def test_too_few_paced_calls_for_a_tail_are_said():
    found = diff(paced(1000), paced(1500, starts=5))
    assert changed(found, "a").p99 is None
    assert "fewer than 1,000 calls, so there is no p99 of: a" in found.notes
    assert changed(found, "b").p99 is not None
    same = diff(paced(1000), paced(1000, starts=5), fail_over=0.05)
    assert same.undecided == ["a", "a's p99"]
    assert not any("noisy" in note for note in same.notes)


def test_the_tails_have_a_table_of_their_own(run, tmp_path):
    pair = [write_log(tmp_path / f"{us}.jsonl", paced_log(us)) for us in (1000, 1500)]
    lines = run("diff", *pair, *OVER).output.splitlines()
    tails, medians = (n for n, line in enumerate(lines) if re.match("p(99|50): ", line))
    assert tails < medians
    assert re.match(r"a +1.00 ms +1.50 ms +1.50 +1.50 +regressed", lines[tails + 2])
    assert re.match(r"a +100 µs +100 µs +1.00 +1.00 +same", lines[medians + 2])
    markdown = run("diff", *pair, "--markdown").output
    assert markdown.count("| backend | old | new | ratio |") == 2
    found = run("diff", *pair, "--json").answer
    assert found["backends"][0]["p99"]["became"] == "slower"


@pytest.fixture
def files(tmp_path):
    new = log(blocks("a", 110), blocks("b", 200), failed("c", "crashed", "it fell"))
    rows = {"old.jsonl": log(*ROWS), "new.jsonl": new}
    return [write_log(tmp_path / name, content) for name, content in rows.items()]


OVER = ("--fail-over", "5%")


def test_the_command_fails_over_the_threshold(run, files):
    done = run("diff", *files, *OVER)
    assert done.code == 1
    assert "crashed: it fell" in done.output
    assert done.output.splitlines()[-1].endswith("a, c")


@pytest.mark.parametrize("columns", [40, 80])
def test_without_a_threshold_it_passes_with_no_line_wider_than_the_terminal(run, files, columns):
    done = run("diff", *files, COLUMNS=str(columns))
    assert done.code == 0
    assert max(map(len, done.output.splitlines())) <= columns


def test_json_says_what_became_of_each(run, files):
    found = run("diff", *files, *OVER, "--json").answer
    assert found["regressed"] == ["a", "c"]
    became = {row["name"]: row["became"] for row in found["backends"]}
    assert became == {"a": "slower", "b": "same", "c": "broken"}


def test_markdown_has_a_row_for_each(run, files):
    lines = run("diff", *files, "--markdown").output.splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 5


def test_the_command_passes_below_the_threshold(run, files):
    done = run("diff", files[0], files[0], *OVER)
    assert done.code == 0
    assert "passed" in done.output.splitlines()[-1]


@pytest.mark.parametrize("starts", [ROUNDS, 3])
def test_the_command_can_fail_on_noise(run, tmp_path, starts):
    """Too few starts are noise as well."""
    noise = "may be slower by more than 5 %: a"
    logs = [log(noisy("a", 100, 0.3, seed)[:starts], blocks("b", 200)) for seed in (0, 1)]
    files = [write_log(tmp_path / f"{seed}.jsonl", one) for seed, one in enumerate(logs)]
    done = run("diff", *files, *OVER)
    assert done.code == 0
    said = " ".join(done.output.split())
    assert said.endswith(f"with confidence; {noise}; --fail-if-noisy fails then")
    done = run("diff", *files, *OVER, "--fail-if-noisy")
    assert done.code == 1
    assert done.output.splitlines()[-1] == f"failed: {noise}"
    assert run("diff", *files, *OVER, "--json").answer["undecided"] == ["a"]
    without = write_log(tmp_path / "without.jsonl", log(noisy("a", 100, 0.3, 1)[:starts]))
    done = run("diff", files[0], without, *OVER)
    assert f"with confidence; {noise}; not in NEW: b; " in " ".join(done.output.split())
    done = run("diff", files[0], without, *OVER, "--fail-if-noisy")
    assert done.output.splitlines()[-1] == f"failed: {noise}; not in NEW: b"
    assert run("diff", files[0], files[0], "--fail-over", "50%", "--fail-if-noisy").code == (
        0 if starts == ROUNDS else 1
    )


def test_a_verdict_on_times_of_two_runs_says_what_its_interval_leaves_out():
    slower = result(blocks("a", 120), blocks("b", 240), blocks("c", 480))
    (note,) = diff(OLD, slower).notes
    assert note.startswith("between two runs a machine itself becomes some percent faster")
    assert not diff(OLD, slower, relative=True).notes


@pytest.mark.parametrize("ended", [None, "interrupted"])
def test_a_run_that_did_not_end_is_told(ended):
    whole, cut = result(blocks("a", 100)), result(blocks("a", 100), ended=ended)
    (note,) = diff(whole, cut).notes
    assert note.startswith("NEW is of a run that did not end")
    assert not diff(whole, whole).notes


def test_a_tail_that_noise_hides_is_named():
    tails = [(100_000,) * 160 + (1_000_000 + 300_000 * n,) * 10 for n in range(6)]
    rows = (changed_block(one, samples_ns=tails[one.round]) for one in blocks("a", 100, 6))
    found = result(tuple(rows), interval_s=0.02)
    assert diff(found, found, fail_over=0.05).undecided == ["a's p99"]


def steps(workflow):
    found = re.findall(r"- name: (.+)\n((?:  +#.*\n)*)  +run: \|\n((?: {10}.*\n|\n)+)", workflow)
    return {name: textwrap.dedent(script) for name, _, script in found}


@pytest.mark.slow
def test_the_gate_of_the_docs_passes_where_nothing_changed(tmp_path, pytestconfig):
    found = steps((pytestconfig.rootpath / "docs/gate.yml").read_text())
    for version in ("base", "change"):
        folder = tmp_path / version / ".venv/bin"
        folder.mkdir(parents=True)
        program = folder / "lenet-bench"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m lenet_bench "$@"\n')
        program.chmod(0o755)
    summary = tmp_path / "summary.md"
    variables = {**os.environ, "BACKENDS": "fused", "GITHUB_STEP_SUMMARY": str(summary)}
    bash = ("bash", "-e", "-o", "pipefail", "-c")
    ran(*bash, found["Measure in turns"], cwd=tmp_path, env=variables)
    for version in ("base", "change"):
        assert read_result(tmp_path / f"{version}.jsonl").rounds == 12
    (gate,) = [script for name, script in found.items() if name.startswith("Fail where")]
    ran("bash", "-e", "-c", gate.replace("5%", "90%"), cwd=tmp_path, env=variables)
    assert "| fused |" in summary.read_text()
