"""A backend in a process of its own, where this process cannot load it.

For timing, use `lenet-bench compare`, whose clock runs inside the backend's process: here each call
also sends its data to the other process and back.
"""

import weakref
from functools import partial
from threading import Lock
from typing import Any

from ..arrays import Floats
from ..errors import LenetBenchError, Unavailable
from ..process import Child, Died, Parent, Raised
from ..weights import Weights
from . import environments
from .building import load_here, wrong_version
from .input import check_image, check_images
from .rows import find

_SECONDS = 300  # to be built: ahead-of-time compilers on a slow machine


class InOwnProcess:
    """A backend in a child process; one call at a time."""

    def __init__(self, name: str, weights: Weights, *, threads: int, hide_output: bool) -> None:
        backend, _ = find(name)
        self._name = name
        try:
            self._child = Child(
                f"{__name__}:serve",
                python=environments.interpreter(backend),
                variables=environments.variables(backend, threads, hide_output=hide_output),
                printed="dropped" if hide_output else "shown",
            )
        except Died as death:
            raise Unavailable(death.reason) from None
        self._one_at_a_time = Lock()
        self.close = weakref.finalize(self, self._child.close)
        try:
            self._ask((name, threads, dict(weights.parameters)), _SECONDS)
        except BaseException:
            self.close()
            raise

    def infer(self, images: Floats) -> Floats:
        """Probabilities, as of any backend; a call includes the transfer to the other process."""
        answer: Floats = self._ask(("infer", check_images(images)))
        return answer

    def layers(self, image: Floats) -> dict[str, Floats]:
        layers: dict[str, Floats] = self._ask(("layers", check_image(image)))
        return layers

    def describe(self) -> dict[str, str]:
        """The backend's own description, and that it is not in this process."""
        described: dict[str, str] = self._ask(("describe",))
        return {**described, "process": "of its own"}

    def _ask(self, question: tuple[Any, ...], seconds: float | None = None) -> Any:
        try:
            with self._one_at_a_time:
                return self._child.answer(question, seconds)
        except Died as death:
            reason = wrong_version(self._name, death.sentence)
            raise Unavailable(reason or f"{self._name}: {death.sentence}") from None
        except Raised as error:
            raise LenetBenchError(f"{self._name} failed with {error}") from None


def serve(parent: Parent) -> None:
    """Build the backend that the first question names, then answer until the parent hangs up."""
    name, threads, parameters = parent.hear()
    network: Any = None

    def load() -> None:
        nonlocal network
        network = load_here(*find(name), Weights(parameters), threads, hide_output=False)

    parent.answer(load)
    while True:
        what, *arguments = parent.hear()
        parent.answer(partial(getattr(network, what), *arguments))
