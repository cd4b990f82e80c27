"""The JSON schema (2020-12) of result files, made from the model; its comments are descriptions."""

import inspect
import io
import json
import tokenize
from typing import Any

import msgspec

from . import machine, model
from .model import SCHEMA, Block, End, Header


def make_schema() -> str:
    """Each line of a file is one of three."""
    lines, components = msgspec.json.schema_components(
        (Header, Block, End), ref_template="#/$defs/{name}"
    )
    kinds = vars(machine) | vars(model)
    for name, component in components.items():
        _describe(kinds[name], component)
    components["Header"]["properties"]["schema"]["const"] = SCHEMA
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:lenet-bench:result:{SCHEMA}",
        "title": "A line of a comparison by lenet-bench",
        "anyOf": list(lines),
        "$defs": components,
    }
    return json.dumps(schema, indent=1) + "\n"


def comments(kind: type) -> dict[str, str]:
    """What stands beside each field in the source."""
    source = inspect.getsource(kind)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    beside = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    names = getattr(kind, "__struct_fields__", ())
    return {
        t.string: beside[t.start[0]]
        for t in tokens
        if t.string in names and t.start[0] in beside and t.start[1] == 4
    }


def _describe(kind: type, component: dict[str, Any]) -> None:
    component.pop("title", None)
    for name, comment in comments(kind).items():
        component["properties"][name]["description"] = comment
