"""A call as users make it, and the entry points below it, as ways of an API."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..networks.pieces import Form
from . import Case, Infer, Way, Ways

EAGER = Form(in_full=True, eager=True)
COMPILED = Form(in_full=True, held=True)  # unused layers are left out, and arrays not copied
ON_TENSOR = "the call on an array, less that on the API's own"

Held = Any  # the objects that a backend's function holds, by their names in it
Inside = Callable[[Held], Infer]  # a function that is called instead, on one of them
Below = tuple[str, str, Inside]  # a `Way` of that


def called(case: Case, name: str, evidence: str, *below: Below, **more: Any) -> Ways:
    """The call as users make it, without what all backends share, and the ways below that."""

    def unchecked(made: Any) -> Infer:
        answer, images = made.answer, case.images
        return lambda _: answer(images)

    def inside(of: Inside) -> Callable[[Any], Infer]:
        return lambda made: of(SimpleNamespace(**made.inside()))

    checks = "the call, less without the check of the input and the lock"
    users = [Way("checks", checks, lambda made: made.infer), Way(name, evidence, unchecked)]
    return Ways([*users, *(Way(way, why, inside(of)) for way, why, of in below)], **more)
