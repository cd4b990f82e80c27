"""A backend in a process of its own, where this process cannot load it.

For timing, use `lenet-bench compare`, whose clock runs inside the backend's process: here each call
also sends its data to the other process and back.
"""

import weakref
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import errors
from ..errors import LenetBenchError, Unavailable
from ..process import Child, Died, Parent
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

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities, as of any backend; a call includes the transfer to the other process."""
        answer: NDArray[np.float32] = self._ask(("infer", check_images(images)))
        return answer

    def layers(self, image: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        layers: dict[str, NDArray[np.float32]] = self._ask(("layers", check_image(image)))
        return layers

    def describe(self) -> dict[str, str]:
        """The backend's own description, and that it is not in this process."""
        described: dict[str, str] = self._ask(("describe",))
        return {**described, "process": "of its own"}

    def _ask(self, question: tuple[Any, ...], seconds: float | None = None) -> Any:
        try:
            with self._one_at_a_time:
                kind, answer = self._child.ask(question, seconds)
        except Died as death:
            reason = wrong_version(self._name, death.sentence)
            raise Unavailable(reason or f"{self._name}: {death.sentence}") from None
        if kind == "answer":
            return answer
        error = getattr(errors, kind, None)
        if error is None:
            raise LenetBenchError(f"{self._name} failed with {kind}: {answer}")
        raise error(answer)


def serve(parent: Parent) -> None:
    """Build the backend that the first question names, then answer until the parent hangs up."""
    network: Any = None
    while True:
        question = parent.hear()
        try:
            if network is None:
                name, threads, parameters = question
                network = load_here(*find(name), Weights(parameters), threads, hide_output=False)
                answer: Any = None
            else:
                what, *arguments = question
                answer = getattr(network, what)(*arguments)
        except Exception as error:
            parent.say((type(error).__name__, str(error)))
        else:
            parent.say(("answer", answer))
