"""The JSON schema (2020-12) of result files, made from the model; each comment is a description.

The package ships what this makes, `result.schema.json`; `lenet-bench schema` prints that file.
"""

import inspect
import io
import json
import tokenize
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.resources import files
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .model import SCHEMA, Result, RungResult, Turn
from .typed_json import required

_PRIMITIVES = {int: "integer", float: "number", str: "string", bool: "boolean"}


def shipped_schema() -> str:
    """The text of the schema's file in this package."""
    return (files(__package__) / "result.schema.json").read_text()


def make_schema() -> str:
    """What that file must be."""
    definitions: dict[str, Any] = {}
    top = _object(Result, definitions)
    # In the file, the samples come last and by rung: a person sees the rest first.
    definitions["RungResult"]["properties"].pop("turns")
    top["properties"]["turns"] = {
        "type": "object",
        "additionalProperties": {"type": "array", "items": _reference(Turn)},
        "description": f"by rung: {comments(RungResult)['turns']}",
    }
    top["properties"]["schema"]["const"] = SCHEMA
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:lenet-bench:result:{SCHEMA}",
        "title": "A comparison by lenet-bench",
        **top,
        "$defs": dict(sorted(definitions.items())),
    }
    return json.dumps(schema, indent=1) + "\n"


def comments(kind: type) -> dict[str, str]:
    """What stands beside each field in the source."""
    source = inspect.getsource(kind)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    beside = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    names = {field.name for field in fields(kind)}
    return {
        t.string: beside[t.start[0]]
        for t in tokens
        if t.string in names and t.start[0] in beside and t.start[1] == 4
    }


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """A dataclass; unknown fields are of a later version and allowed."""
    hints, told = get_type_hints(kind), comments(kind)
    return {
        "type": "object",
        "description": inspect.getdoc(kind),
        "properties": {
            name: {**_schema(hint, definitions), "description": told[name]}
            for name, hint in hints.items()
        },
        "required": required(kind),
    }


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if origin in (Union, UnionType):  # X | None
        return _or_null(_schema(arguments[0], definitions))
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if is_dataclass(kind):
        assert isinstance(kind, type)
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # so that it is not begun twice
            definitions[kind.__name__] = _object(kind, definitions)
        return _reference(kind)
    return {"type": _PRIMITIVES[kind]}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _reference(kind: type) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{kind.__name__}"}
