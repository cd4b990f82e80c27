"""A model of the user's in a framework, as one block: nothing, trivial layers, and the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from ..errors import Unsupported
from ..networks.pieces import Form, Piece, around, block
from ..registry import find
from ..registry.adapter import Adapter
from ..subjects.framework_model import FrameworkModel, Inputs, Placing, as_called
from ..subjects.subject import Subject
from ..weights import Weights
from . import Case, Probe, Ways, probes_in


@dataclass(frozen=True)
class OfModel(Case):
    """What stands in the place of images is the model's own input."""

    subject: FrameworkModel
    first: Inputs

    @cached_property
    def images(self) -> Any:
        return as_called(self.row, self.first)

    @cached_property
    def placed(self) -> Mapping[str, Any]:
        return self.subject.in_place(Placing(self.variant, self.first, lambda: self._model))

    @property
    def sha256(self) -> str:
        return self.subject.sha256

    @cached_property
    def _model(self) -> Any:
        """All pieces hold the same one, so that it is in memory once."""
        return self.subject.load()

    @property
    def _builder(self) -> Any:
        return import_module(f"lenet_bench.networks.builders.{self.row.module}")

    def pieces(self, form: Form) -> list[Piece]:
        def call() -> Any:
            return self.subject.exact(self._model, self.first, double=False)

        return around(self.network, self._builder.operations(self._model, call), form)

    def built(self, piece: Piece, ways: Ways) -> Adapter:
        model = self._model
        if piece.network:
            model = self._builder.trivial(model, self.first, piece.network, held=ways.form.held)
        given = self.row, self.variant, self.threads, self.first
        made = self.subject.called(*given, lambda: model, ways.others)
        made.infer(self.first)
        return made


def probes_of_model(
    subject: Subject, name: str, weights: Weights, threads: int, first: Inputs
) -> list[Probe]:
    """The experiments of a model on a backend."""
    assert isinstance(subject, FrameworkModel)
    if not subject.is_own(name):
        raise Unsupported(
            f"it gets the model converted, and why takes calls of {subject.framework} apart"
        )
    network = block(subject.label, next(iter(first.values())).shape[1:])
    return probes_in(OfModel(*find(name), network, weights, threads, subject, first))
