"""The parts of a comparison: the clock around a call, images, cores, rounds, when a run ends."""

import os
import threading
from itertools import chain, count, cycle, islice, pairwise, repeat
from typing import Any

import numpy as np
import pytest
from lenet_bench import CompareOptions
from lenet_bench.measure import calls as measured_calls
from lenet_bench.measure import watch
from lenet_bench.measure.block import said_of_turns
from lenet_bench.measure.calls import time_calls
from lenet_bench.measure.comparison import Plan, to_repeat
from lenet_bench.measure.decided import Undecided, bounded, is_look
from lenet_bench.measure.empty import EMPTY
from lenet_bench.measure.experiments import Experiments
from lenet_bench.measure.messages import Failure, FewTimed, Probed, Timed, packed
from lenet_bench.measure.pinning import (
    _siblings,
    choose_cores,
    on_cores,
    threads_cores,
    with_threads_on,
)
from lenet_bench.measure.rounds import again_in, shuffled, with_baseline
from lenet_bench.measure.start import Failed, answer_in
from lenet_bench.measure.stretch import Stretch
from lenet_bench.measure.watch import Delays
from lenet_bench.registry import names
from lenet_bench.results import disturbed
from lenet_bench.results.statistics import FEWEST_STARTS, judge, paired_ratio
from lenet_bench.subjects import lenet
from lenet_bench.subjects.subject import Known
from lenet_bench.why import Probe
from processes import python
from sample_results import QUIET_SLICES, SLOW_SLICES, blocks, log, timed_starts

NAMES = ["a", "b", "c", "d"]
NOTHING = np.empty(0, np.float32)

pinned = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin")


def asked(fewest, **options):
    """Calls of something that answers with the number of the call."""
    made = []

    def infer(image):
        made.append(image)
        return len(made)

    inputs = [np.full(1, number, np.float32) for number in range(3)]
    return time_calls(infer, inputs, 0.0, fewest=fewest, **options)


def timed_with(seconds, **options):
    return time_calls(lambda _: None, [np.zeros(1, np.float32)], seconds, fewest=1, **options)


def test_calls_go_through_the_images():
    calls = asked(20)
    assert len(calls.samples_ns) == 20
    assert [number for number, _ in calls.answers[:3]] == [0, 1, 2]
    assert sum(calls.samples_ns) <= calls.wall_ns


def test_calls_last_as_long_as_they_shall():
    assert timed_with(0.01).wall_ns >= 10_000_000


@pytest.fixture
def loops(monkeypatch):
    """The known loops take these times, and the last of them from then on; a call takes 0.1 ms."""
    readings = count(0, 100_000)

    def take(*times):
        monkeypatch.setattr(measured_calls, "clock", lambda: next(readings))
        left = chain(times, repeat(times[-1]))
        monkeypatch.setattr(measured_calls, "known_loops_ns", lambda **_: next(left))

    return take


def test_a_machine_that_is_never_quiet_ends_the_wait(loops):
    loops((150,))
    calls = timed_with(0.01, patience=3, undisturbed_ns=(100,))
    assert {loop_ns for _, loop_ns in calls.slices} == {150}
    assert calls.wall_ns >= 30_000_000


def test_on_a_disturbed_machine_undisturbed_calls_are_waited_for(loops):
    loops(*[(100,), (150,)] * 40, (100,))
    calls = timed_with(0.01, patience=1000)
    slow, quick = ([ns for _, ns in calls.slices if ns == loop] for loop in (150, 100))
    assert 1 <= len(slow) <= 6, "of the first 10 ms only, in slices of at least 2 ms"
    assert len(quick) >= 4
    assert sum(count for count, _ in calls.slices) == len(calls.samples_ns) < calls.made


def test_a_shared_cache_that_is_slow_makes_calls_wait_and_not_count(loops):
    """The first-level cache is as fast as ever."""
    loops(*[(30, 100), (30, 150)] * 40, (30, 100))
    calls = timed_with(0.01, patience=1000)
    slow, quick = ([one for one in calls.slices if one[2] == ns] for ns in (150, 100))
    assert len(slow) > 6, "kept, for where they are all that there is"
    assert len(quick) >= 4


def test_slices_are_longer_where_the_loops_are(monkeypatch):
    """Reading so many bytes takes a millisecond on a small board; loops may not take half of it."""
    monkeypatch.setattr(measured_calls, "known_loops_ns", lambda **_: (20_000, 1_000_000))
    calls = timed_with(0.1)
    assert len(calls.slices) <= 1 + calls.wall_ns / (20 * 1_020_000)


def test_caches_between_paced_calls_stay_as_they_are():
    assert len(measured_calls.known_loops_ns(near=True)) == 1
    paced = timed_with(0.01, before=lambda: None)
    assert {len(one) for one in paced.slices} == {2}
    assert {len(one) for one in timed_with(0.01).slices} == {3}


def test_experiments_wait_for_a_quiet_machine_and_say_so(loops):
    """The known loop takes longer each time, so no call counts but the first."""
    loops(*((int(1.5**number),) for number in range(20, 1500)))
    every = Experiments([Probe("call", "call", lambda _: None)], lambda _: None, [NOTHING])
    said = []
    while every.turns.done < every.turns.most:
        said.append(said_of_turns(every.turns))
        every.turn()
    assert said[7] == "turn 8 of 8 of its experiments, which end after 120 s"
    waiting = "waiting for a quiet machine, turn {} of at most 32 of its experiments"
    assert said[8:] == [waiting.format(turn) for turn in range(9, 33)]


def test_a_random_sample_of_the_answers_is_kept_to_be_checked():
    """So an error in one call of a thousand is seen in one block of ten, and not never."""
    kept = [{answer for _, answer in asked(fewest).answers} for fewest in (3000, 3000, 50_000)]
    assert all(60 <= len(answers) <= 131 for answers in kept)
    assert {2998, 2999, 3000} <= kept[0], "the last to each image"
    assert kept[0] != kept[1]
    assert sorted(kept[2])[-20] > 35_000, "from the beginning to the end, however many"
    assert sorted(kept[2])[20] < 20_000


def test_an_answer_that_is_written_after_the_clock_is_seen():
    """As of a thread or a GPU that nobody waits for: here the next call writes it."""
    late: list[Any] = []

    def infer(_image):
        for array in late:
            array[:] = 1
        late[:] = [np.zeros(1)]
        return late[0]

    calls = time_calls(infer, [np.zeros(1, np.float32)], 0.0, fewest=100)
    late[0][:] = 1  # the last one, before anybody looks
    assert {float(answer[0]) for _, answer in calls.answers} == {0.0, 1.0}


def test_images_are_what_backends_accept():
    images = lenet.strokes(20, seed=3)
    np.testing.assert_array_equal(images, lenet.strokes(20, seed=3))
    assert len({image.tobytes() for image in images}) == 20
    for made in (images, lenet.edge_cases()):
        assert made.dtype == np.float32
        assert made.shape[1:] == (28, 28)
        assert 0 <= made.min() <= made.max() <= 1
    assert 0.12 < (lenet.strokes(200, seed=0) > 0).mean() < 0.28


def test_a_round_has_every_backend_once():
    first, again, other = (list(islice(shuffled(NAMES, seed), 50)) for seed in (1, 1, 2))
    assert all(sorted(order) == NAMES for order in first)
    assert first == again != other


def test_a_run_ends_within_its_budget():
    plan = Plan(budget_s=10, rounds=8)
    assert not plan.is_over(7, elapsed_s=1, round_s=1)
    assert plan.is_over(8, elapsed_s=1, round_s=1)
    assert plan.fits(0, elapsed_s=8, takes_s=2)
    assert not plan.fits(0, elapsed_s=8.1, takes_s=2)
    assert Plan(budget_s=10, least=1).fits(0, elapsed_s=20, takes_s=2)
    assert not Plan(budget_s=10).is_over(1000, elapsed_s=1, round_s=1)


def test_without_a_limit_a_run_has_enough_rounds_for_intervals():
    plan = Plan()
    assert not plan.is_over(FEWEST_STARTS - 1, elapsed_s=1000, round_s=100)
    assert plan.is_over(FEWEST_STARTS, elapsed_s=1000, round_s=100)
    assert not plan.is_over(FEWEST_STARTS, elapsed_s=2, round_s=0.3)


def test_a_run_says_what_time_is_left():
    left_s = {Plan(rounds=8): 12, Plan(budget_s=15): 5, Plan(budget_s=5): 0, Plan(): 10}
    assert {plan: plan.left_s(rounds=2, elapsed_s=10, round_s=2) for plan in left_s} == left_s
    assert Plan(rounds=8).left_s(0, 1, 0.0) is None  # before the first block


def test_disturbed_blocks_are_repeated_once_each():
    every = [block for name in "abc" for block in blocks(name, 9, slices=QUIET_SLICES)]
    slow = blocks("d", 9, rounds=2, slices=SLOW_SLICES)
    every += blocks("d", 9, rounds=8, slices=QUIET_SLICES)[2:]
    assert to_repeat([*every, *slow], disturbed([*every, *slow], EMPTY), NAMES) == list(slow)
    again = [*every, *slow, slow[0]]
    assert to_repeat(again, disturbed(again, EMPTY), NAMES) == [slow[1]]


def test_at_most_a_quarter_of_the_blocks_is_repeated():
    half = list(blocks("d", 9, rounds=16, slices=QUIET_SLICES)[8:])
    half += blocks("d", 9, rounds=8, slices=SLOW_SLICES)
    assert len(to_repeat(half, disturbed(half, EMPTY), NAMES)) == len(half) // 4


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Where it keeps its files, of two cores of which the first is off."""
    monkeypatch.setattr(watch, "Path", lambda path: tmp_path / path.lstrip("/"))
    files = {
        "proc/stat": "cpu 9 9 9 9 9 9 9 9 9 9\ncpu1 100 0 200 300 100 0 0 100 50 0\nctxt 7\n",
        "proc/cpuinfo": "processor\t: 1\nmodel\t: 17\ncpu MHz\t\t: 2596.5\n\n",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_a_core_is_read_by_its_number(system):
    ticks = os.sysconf("SC_CLK_TCK")
    assert watch.cpu_times((1,), 0) == (800 / ticks, 300 / ticks, 100 / ticks, 0)
    assert watch.mhz((1,)) == 2596.5
    assert (watch.cpu_times((0,), 0), watch.mhz((0,))) == (None, None)
    assert (watch.cpu_times((), 0), watch.mhz(())) == (None, None)
    governor = system / "sys/devices/system/cpu/cpu1/cpufreq"
    governor.mkdir(parents=True)
    (governor / "scaling_cur_freq").write_text("3100000\n")
    assert watch.mhz((1,)) == 3100


def test_what_a_process_used_before_hides_no_other_programs(system, monkeypatch):
    """It used 9 s, and then 1 of the 3 s that its core was busy in 4."""
    monkeypatch.setattr(watch.os, "sysconf", lambda _: 100)
    used_s = iter((9.0, 10.0))
    monkeypatch.setattr(watch, "_cpu_s", lambda _: next(used_s))
    before = watch.cpu_times((1,), 7)
    (system / "proc/stat").write_text("cpu1 400 0 200 400 100 0 0 100 50 0\n")
    assert watch.shares((1,), before, 7) == (0, 0.5)


@pinned
@pytest.mark.parametrize("threads", [1, 2, 3, 1000])
def test_backends_get_as_many_cores_as_threads(threads):
    allowed = os.sched_getaffinity(0)
    cores = choose_cores(threads)
    assert set(cores.worker) <= allowed
    assert len(cores.worker) == min(threads, len(allowed))
    if threads == 1 < len(allowed):
        assert not set(cores.worker) & set(cores.parent)
    assert set(choose_cores(len(allowed)).parent) == allowed
    for cpu in allowed:
        assert choose_cores(1, near={cpu}).worker[0] in cores_of(cpu)


@pinned
def test_all_threads_get_other_cores_for_a_while():
    if len(allowed := os.sched_getaffinity(0)) < 2:
        pytest.skip("only one core is allowed")
    here, end = min(allowed), threading.Event()

    def began():
        thread = threading.Thread(target=end.wait)
        thread.start()
        return thread.native_id

    try:
        with on_cores([here]):
            assert os.sched_getaffinity(0) == {here}
            threads = [began()]
            with with_threads_on(allowed):
                threads.append(began())
                assert [threads_cores()[one] for one in threads] == [allowed, allowed]
            assert [threads_cores()[one] for one in threads] == [{here}, {here}]
        assert os.sched_getaffinity(0) == allowed
    finally:
        end.set()


def cores_of(cpu):
    """The logical CPUs of its physical core."""
    return {one for one in os.sched_getaffinity(0) if _siblings(one) == _siblings(cpu)}


def test_the_process_of_a_backend_needs_no_library_but_numpy():
    script = (
        "import sys, lenet_bench.measure.worker\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if 'site-packages' in (getattr(module, '__file__', None) or ''):\n"
        "        print(name.partition('.')[0])\n"
    )
    found = {name for name in python(script).stdout.split() if not name.startswith("_")}
    assert found <= {"lenet_bench", "numpy", "safetensors"}


PROBED = {"made": 1, "answers": [], "repeated_us": 1.0, "rotated_us": 1.0, "fresh_us": 1.0}
FEW = {"answer": 0, "samples_ns": np.zeros(2, np.int64)}


@pytest.mark.parametrize(
    ("kind", "message", "reason"),
    [
        (Probed, 5, "got `int`"),
        (Probed, ("Probed",), "length 2"),
        (Probed, (1, PROBED), "got `int`"),
        (Probed, ("Probed", 1), "got `int`"),
        (Probed, ("Timed", PROBED), "Expected `Probed`, got `Timed`"),
        (Probed, ("exit", PROBED), "got `exit`"),
        (Probed, ("Probed", {}), "missing required field `made`"),
        (Probed, ("Probed", {**PROBED, "fresh_us": "short"}), "got `str`"),
        (Probed, ("Failure", {"why": "no reason"}), "missing required field `status`"),
        (Probed, ("Failure", {"status": "ok", "reason": ""}), "Invalid enum value 'ok'"),
        (FewTimed, ("FewTimed", {**FEW, "samples_ns": [1, 2]}), "got `list`"),
        (FewTimed, ("FewTimed", {**FEW, "samples_ns": np.zeros(2)}), "got float64 (2,)"),
    ],
)
def test_a_message_of_a_wrong_form_is_a_failure(kind, message, reason):
    with pytest.raises(Failed, match=r"sent a message of a wrong form: ") as raised:
        answer_in(message, kind)
    assert raised.value.status == "crashed"
    assert reason in raised.value.reason


def test_what_has_the_form_of_a_message_is_taken():
    assert vars(answer_in(("Probed", PROBED), Probed)) == PROBED
    assert vars(answer_in(("FewTimed", FEW), FewTimed)) == FEW
    with pytest.raises(Failed, match=r"^no algorithm$") as raised:
        answer_in(packed(Failure("unsupported", "no algorithm")), Probed)
    assert raised.value.status == "unsupported"


CALL_NS, OWN_NS = 1_690_000, 400
HAD_NS, LOST_NS = 3_000_000, 12_000_000  # a core, and not, in turns beside four busy programs


def stretch(samples_ns, wait_ns, delays=None, loops_ns=(30_000,)):
    """Calls, each with a slice, that the parent waited for."""
    slices = [(1, loop_ns) for _, loop_ns in zip(samples_ns, cycle(loops_ns), strict=False)]
    answer = Timed(np.array(samples_ns), slices, len(samples_ns), [], [], 0, 0, 0, 0, 0, 0)
    return Stretch(answer, Known(NOTHING, NOTHING), int(wait_ns), delays or Delays())


def beside_four_programs(calls, call_ns, reported=1.0):
    """Times as a scheduler makes them, of which the backend reports that share."""
    lost = np.diff(np.arange(calls + 1) * call_ns // HAD_NS)
    samples = call_ns + lost * LOST_NS
    outside_ns = 4 * LOST_NS  # while both send and read their messages
    delays = Delays(int(lost.sum()) * LOST_NS + outside_ns, int(lost.sum()) + 2)
    return stretch(samples * reported, samples.sum() + outside_ns + 400_000, delays)


@pytest.mark.parametrize("calls", [10, 30, 1000])
def test_waits_for_a_core_are_no_changed_times(calls):
    """The quickest stretch had its core: 1.69 ms a call. Beside four programs it is 6.4."""
    assert beside_four_programs(calls, CALL_NS).agrees(CALL_NS / 1000, OWN_NS)


@pytest.mark.parametrize("loops_ns", [(30_000,), (30_000, 60_000, 60_000)])
def test_what_the_harness_itself_takes_is_no_changed_time(loops_ns):
    """A third more where most slices are disturbed, which a hypervisor does unseen."""
    share = 1.1 if len(loops_ns) == 1 else 1.4
    calls = stretch([CALL_NS] * 100, share * 100 * CALL_NS, loops_ns=loops_ns)
    assert calls.agrees(CALL_NS / 1000, OWN_NS)
    assert not is_believed([stretch([CALL_NS] * 100, 1.4 * 100 * CALL_NS)])


def is_believed(stretches):
    quickest_us = min(one.median_us for one in stretches)
    return any(one.agrees(quickest_us, OWN_NS) for one in stretches)


LYING = {
    "half of each": [stretch([CALL_NS / 2] * 100, 100 * CALL_NS)] * 5,
    "half of some stretches": [
        stretch([CALL_NS / 2] * 100, 100 * CALL_NS),
        stretch([CALL_NS] * 100, 100 * CALL_NS),
    ],
    "half of most calls": [stretch([CALL_NS / 2, CALL_NS / 2, CALL_NS] * 33, 99 * CALL_NS)] * 5,
    "half, most slices disturbed": [
        stretch([CALL_NS / 2] * 100, 100 * CALL_NS, loops_ns=(30_000, 60_000, 60_000))
    ],
    "half of short calls beside four programs": [beside_four_programs(1000, 100_000, 0.5)] * 5,
}


@pytest.mark.parametrize("stretches", LYING.values(), ids=list(LYING))
def test_halved_times_are_not_believed(stretches):
    assert not is_believed(stretches)


def scattered(name, us, scatter, rounds):
    """Blocks of these starts, each of one time, which differ by that from round to round."""
    random = np.random.default_rng(len(name))
    return timed_starts(name, *us * np.exp(scatter * random.standard_normal(rounds)))


def test_the_backends_without_a_certain_verdict_go_on_with_the_baseline():
    steady = (scattered(name, us, 0.001, 13) for name, us in {"base": 100, "slow": 150}.items())
    noisy, near = scattered("noisy", 100, 0.3, 13), scattered("near", 102, 0.03, 13)
    found = Undecided(log(*steady, noisy, near, baseline="base"))
    assert set(found.starts) == {"noisy", "near"}
    assert found.judged == 3
    assert [name in found for name in ("base", "slow", "noisy", "near")] == [
        True,
        False,
        True,
        True,
    ]
    assert found.says(most=1e6) == "open: noisy and near"
    assert "too noisy for the time left: noisy" in found.says(most=found.starts["noisy"] - 1)


def test_five_starts_decide_nothing():
    found = Undecided(log(blocks("base", 10, rounds=5), blocks("slow", 90, rounds=5)))
    assert set(found.starts) == {"slow"}


def test_verdicts_are_looked_at_seldom():
    assert [number for number in range(30) if is_look(number)] == [6, 8, 10, 13, 17, 22, 28]


def test_a_run_until_decided_has_an_end_and_a_fixed_baseline():
    options = bounded(CompareOptions(("fused", "numpy"), until_decided=True), None)
    assert (options.baseline, options.budget_s) == ("fused", 300)
    options = bounded(CompareOptions(("fused", "onednn"), until_decided=True, rounds=9), None)
    assert (options.baseline, options.budget_s) == (None, None)
    continued = bounded(CompareOptions(("fused", "numpy"), until_decided=True), 280.0)
    assert (continued.baseline, continued.budget_s) == (None, 580)


def test_in_a_long_round_the_baseline_comes_back_every_six_blocks():
    entries = CompareOptions(tuple(names())).entries()
    again = again_in(CompareOptions(), "onednn", len(entries))
    order = with_baseline([entry.name for entry in entries], "onednn", again)
    assert len(order) == len(set(order)) == len(entries) + len(again)
    places = [place for place, name in enumerate(order) if name.startswith("onednn")]
    assert places[0] == 0
    assert places[-1] == len(order) - 1
    assert all(later - place <= 7 for place, later in pairwise(places))
    assert with_baseline(["b", "onednn", "a"], "onednn", again) == ["b", "onednn", "a"]
    assert again_in(CompareOptions(), "onednn", 24) == []


@pytest.mark.parametrize(("true_ratio", "wrong", "most"), [(1.02, 3, 0.10), (1.0, 2, 0.01)])
def test_who_looks_often_is_seldom_misled(true_ratio, wrong, most):
    """At the margin each verdict but ambiguous is wrong; of equal backends faster and slower."""
    random = np.random.default_rng(4)
    verdicts = ("faster", "slower", "same")[:wrong]
    runs = 200

    def misled():
        ratios = dict(enumerate(true_ratio * np.exp(0.03 * random.standard_normal(60))))
        for looks in filter(is_look, range(61)):
            some = {number: ratios[number] for number in range(looks)}
            said = judge(paired_ratio(some, dict.fromkeys(some, 1.0), 0.99), 0.02)
            if said != "ambiguous":
                return said in verdicts
        return False

    assert sum(misled() for _ in range(runs)) <= most * runs
