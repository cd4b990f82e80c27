"""The JSON schema (2020-12) of result files, made from the model; its comments are descriptions."""

import inspect
import json
import re
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


def _describe(kind: type, component: dict[str, Any]) -> None:
    component.pop("title", None)
    beside = re.findall(r"^    (\w+): .+  # (.+)$", inspect.getsource(kind), re.MULTILINE)
    for name, comment in beside:
        component["properties"][name]["description"] = comment
