"""The machine and its software in a result file; None for an unknown fact."""

from collections.abc import Mapping

from msgspec import Struct


class Cache(Struct, frozen=True):
    """One level of the cache that the first CPU uses."""

    level: int  # 1 is the nearest
    kind: str  # data, instruction or unified
    bytes: int  # its size
    shared_by: int | None = None  # how many logical CPUs


class Processor(Struct, frozen=True):
    """Facts that affect its speed."""

    model: str | None = None  # its name
    architecture: str | None = None  # x86_64, aarch64
    logical: int | None = None  # CPUs as the system counts them
    cores: int | None = None  # real ones
    sockets: int | None = None  # packages that they lie in
    allowed: int | None = None  # logical CPUs that this process may use
    quota: float | None = None  # CPUs' worth of time that a container's limit leaves, None: all
    isa: tuple[str, ...] = ()  # instruction sets worth telling
    caches: tuple[Cache, ...] = ()  # from the first level on
    governor: str | None = None  # who chooses the clock: performance, powersave, ...
    mhz_now: float | None = None  # the clock
    mhz_min: float | None = None  # at least
    mhz_max: float | None = None  # at most
    turbo: bool | None = None  # whether the clock may be higher for a while
    virtual: bool | None = None  # whether a hypervisor is underneath
    time_from: str | None = None  # what the clock reads: tsc takes 20 ns, hpet a thousand
    huge_pages: str | None = None  # transparent ones: where weights lie is less a matter of luck


class Software(Struct, frozen=True):
    """Its software."""

    system: str | None = None  # Linux, Darwin, Windows
    distribution: str | None = None  # its name and version
    kernel: str | None = None  # its release
    libc: str | None = None  # name and version
    python: str | None = None  # implementation and version
    python_compiler: str | None = None  # that built it
    packages: Mapping[str, str] = {}  # versions of what bears on a figure
    variables: Mapping[str, str] = {}  # of the environment, that change how fast a backend runs


class Machine(Struct, frozen=True):
    """Processor, memory and software."""

    processor: Processor = Processor()
    memory_bytes: int | None = None  # all that the system has
    load: tuple[float, ...] | None = None  # mean over 1, 5 and 15 minutes
    software: Software = Software()
