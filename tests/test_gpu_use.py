"""What a rung took of its GPU, added up over its turns: from readings as NVML gives them."""

import pytest
from lenet_bench.measure.gpu import GpuUse
from lenet_bench.results import Turn

CALLS = 100


def span(turn, *, counted=True, watts=70.0):
    """A turn of 50 ms that draws 80 W: 4 J."""

    def reading(at_s, mhz):
        energy_mj = 80_000 * (turn + at_s) if counted else None
        return {"at_s": turn + at_s, "energy_mj": energy_mj, "power_w": watts, "mhz": mhz}

    before, after = reading(0.0, 1200.0 + turn), reading(0.05, 1900.0 + turn)
    return {"before": {**before, "memory_mib": 400.0}, "after": {**after, "memory_mib": 420.0}}


def used(turns, before=None, **rest):
    """By these turns, and by those before them."""
    use = GpuUse()
    if before:
        earlier, count = before
        use.take_over(earlier, [Turn(n, n, 1, 1, 0, 0, (1,) * CALLS) for n in range(count)])
    for turn in turns:
        use.add(span(turn, **rest), CALLS)
    return use.total("A GPU", None)


def test_energy_is_that_of_a_call_and_power_the_mean_of_the_turns():
    gpu = used(range(3))
    assert gpu.energy_mj == pytest.approx(4000 / CALLS)
    assert gpu.power_w == pytest.approx(80)
    assert (gpu.mhz_before, gpu.mhz_after, gpu.memory_mib) == (1200, 1902, 420)


def test_where_no_energy_is_counted_power_is_what_it_drew_at_the_end_of_the_turns():
    gpu = used([0], counted=False, watts=60.0)
    assert (gpu.energy_mj, gpu.power_w) == (None, 60)


@pytest.mark.parametrize("counted", [True, False])
def test_a_run_that_was_resumed_has_the_figures_of_one_that_was_not(counted):
    earlier = used(range(3), counted=counted)
    resumed = used(range(3, 5), before=(earlier, 3), counted=counted)
    whole = used(range(5), counted=counted)
    assert resumed.energy_mj == pytest.approx(whole.energy_mj)
    assert resumed.power_w == pytest.approx(whole.power_w)
    assert (resumed.mhz_before, resumed.mhz_after) == (whole.mhz_before, whole.mhz_after)


def test_a_run_that_was_resumed_and_ended_at_once_keeps_what_there_was():
    earlier = used(range(3))
    assert used([], before=(earlier, 3)).energy_mj == pytest.approx(earlier.energy_mj)


def test_a_rung_that_was_never_timed_has_a_name_only():
    assert used([]).power_w is None
