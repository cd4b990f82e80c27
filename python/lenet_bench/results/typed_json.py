"""JSON values as the dataclasses they were written from, each field checked against its type."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LARGEST, _LARGEST_WHOLE = 1e300, 2**63 - 1


def decode(kind: Any, value: Any, where: str = "") -> Any:
    """The JSON value as that type; ValueError names the place where it is of another."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):  # X | None
        return None if value is None else decode(arguments[0], value, where)
    if origin is Literal and value in arguments:
        return value
    if origin is tuple and isinstance(value, list):
        whole = arguments[0] is int and all(type(item) is int for item in value)
        if whole and max(map(abs, value), default=0) <= _LARGEST_WHOLE:
            return tuple(value)  # a hundred thousand samples: no call for each
        return tuple(decode(arguments[0], v, f"{where}[{n}]") for n, v in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {key: decode(arguments[1], v, f"{where}.{key}") for key, v in value.items()}
    if is_dataclass(kind) and isinstance(value, dict):
        return _decode_fields(kind, value, where)
    if kind is float and type(value) in (int, float) and abs(value) <= _LARGEST:
        return float(value)  # neither infinite nor NaN, which JSON has no word for
    if kind is int and type(value) is int and abs(value) <= _LARGEST_WHOLE:
        return value
    if kind in (str, bool) and type(value) is kind:
        return value
    raise ValueError(f"{where}: expected {_spell(kind)}, found {str(value)[:40]!r}")


def _decode_fields(kind: Any, value: dict[str, Any], where: str) -> Any:
    """Unknown fields are of a later version and are passed over."""
    hints = get_type_hints(kind)
    found = {
        name: decode(hint, value[name], f"{where}.{name}".lstrip("."))
        for name, hint in hints.items()
        if name in value
    }
    if missing := [name for name in required(kind) if name not in found]:
        raise ValueError(f"{where or 'top'}: {', '.join(missing)} missing")
    return kind(**found)


def required(kind: Any) -> list[str]:
    """The fields that have no default."""
    return [
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    ]


def _spell(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    return getattr(kind, "__name__", str(kind))
