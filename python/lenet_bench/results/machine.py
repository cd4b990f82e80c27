"""The machine and its software in a result file; None for an unknown fact."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

# What a file may claim, so that no figure overflows and no text fills a page or the memory.
Name = Annotated[str, Meta(max_length=200)]
Text = Annotated[str, Meta(max_length=2**15)]
Count = Annotated[int, Meta(ge=0, le=10**15)]  # eleven days in ns, and more memory than there is
Some = Annotated[int, Meta(ge=1, le=10**15)]
Number = Annotated[float, Meta(ge=0, le=1e15)]
Part = Annotated[float, Meta(ge=0, le=1)]
Share = Annotated[float, Meta(gt=0, lt=1)]
Numbers = Annotated[tuple[Count, ...], Meta(max_length=10_000)]
Few = Meta(max_length=500)  # of what is listed or named
Words = Annotated[Mapping[Name, Text], Few]
Figures = Annotated[Mapping[Name, Number], Few]

#: Of the recorded variables of the environment those that choose a device or an API, not a speed.
HARMLESS = ("CUDA_VISIBLE_DEVICES", "KERAS_BACKEND", "LENET_BENCH_AT_ONCE")


class Cache(Struct, frozen=True):
    """One level of the cache that the first CPU uses."""

    level: Count  # 1 is the nearest
    kind: Name  # data, instruction or unified
    bytes: Count  # its size
    shared_by: Count | None = None  # how many logical CPUs


class Processor(Struct, frozen=True):
    """Facts that affect its speed."""

    model: Name | None = None  # its name
    architecture: Name | None = None  # x86_64, aarch64
    logical: Count | None = None  # CPUs as the system counts them
    cores: Count | None = None  # real ones
    sockets: Count | None = None  # packages that they lie in
    allowed: Count | None = None  # logical CPUs that this process may use
    quota: Number | None = None  # CPUs' worth of time that a container's limit leaves, None: all
    isa: Annotated[tuple[Name, ...], Few] = ()  # instruction sets worth telling
    caches: Annotated[tuple[Cache, ...], Few] = ()  # from the first level on
    governor: Name | None = None  # who chooses the clock: performance, powersave, ...
    mhz_now: Number | None = None  # the clock
    mhz_min: Number | None = None  # at least
    mhz_max: Number | None = None  # at most
    turbo: bool | None = None  # whether the clock may be higher for a while
    virtual: bool | None = None  # whether a hypervisor is underneath
    time_from: Name | None = None  # what the clock reads: tsc takes 20 ns, hpet a thousand
    huge_pages: Name | None = None  # transparent ones: where weights lie is less a matter of luck


class Software(Struct, frozen=True):
    """Its software."""

    system: Name | None = None  # Linux, Darwin, Windows
    distribution: Name | None = None  # its name and version
    kernel: Name | None = None  # its release
    libc: Name | None = None  # name and version
    python: Name | None = None  # implementation and version
    python_compiler: Name | None = None  # that built it
    packages: Words = {}  # versions of what bears on a figure; also in environments: numpy of mxnet
    variables: Words = {}  # of the environment, that change how fast a backend runs


class Machine(Struct, frozen=True):
    """Processor, memory and software."""

    processor: Processor = Processor()
    memory_bytes: Count | None = None  # all that the system has
    load: tuple[Number, Number, Number] | None = None  # mean over 1, 5 and 15 minutes
    software: Software = Software()
