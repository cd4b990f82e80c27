"""What a setting is, and the ways to change what a backend's file calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

Change = Callable[[ModuleType], object]
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Setting:
    """What is different from a function of the backend's file."""

    says: str
    function: str = "build"
    changes: tuple[Change, ...] = ()  # before the function is called, each given its file
    variables: Mapping[str, str] = field(default_factory=dict)  # of the environment


def replaced(name: str, by: Wrap) -> Change:
    """The function of this name becomes what `by` makes of it.

    The name is a path that begins in the backend's file, or else with a module.
    """

    def change(file: ModuleType) -> None:
        *path, last = name.split(".")
        owner: Any = file
        for part in path:
            owner = getattr(owner, part, None) or import_module(part)
        setattr(owner, last, by(getattr(owner, last)))

    return change


def passes(name: str, **arguments: Any) -> Change:
    """The function is called with these arguments, besides those that the backend gives it."""

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **named: function(*given, **named | arguments)

    return replaced(name, wrapped)


def then(name: str, use: Callable[[Any], Any]) -> Change:
    """What the function returns is passed through `use`, and stays where `use` gives None."""

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            answer = function(*given, **named)
            used = use(answer)
            return answer if used is None else used

        return call

    return replaced(name, wrapped)
