"""The JSON schema (2020-12) of result files, made from the model; its comments are descriptions."""

import inspect
import json
import re

import msgspec

from . import machine, model
from .model import SCHEMA, Block, End, Header

_CHECKSUM = {
    "type": "string",
    "pattern": "^[0-9a-f]{8}$",
    "description": "CRC-32 of the line's bytes before this field, which is the last one",
}

_AFTER = {
    "type": "string",
    "pattern": "^[0-9a-f]{8}$",
    "description": "the `crc32` of the line before",
}


def make_schema() -> str:
    """Each line of a file is one of three."""
    lines, components = msgspec.json.schema_components(
        (Header, Block, End), ref_template="#/$defs/{name}"
    )
    for line in lines:
        component = components[line["$ref"].rpartition("/")[2]]
        component["properties"]["crc32"] = _CHECKSUM
        component["required"] = [*component["required"], "crc32"]
        if not line["$ref"].endswith("/Header"):
            component["properties"]["after"] = _AFTER
    kinds = vars(machine) | vars(model)
    for name, component in components.items():
        component.pop("title", None)
        source = inspect.getsource(kinds[name])
        keys = {one.name: one.encode_name for one in msgspec.structs.fields(kinds[name])}
        for field, comment in re.findall(r"^    (\w+): .+  # (.+)$", source, re.MULTILINE):
            component["properties"][keys[field]]["description"] = comment
    components["Header"]["properties"]["schema"]["const"] = SCHEMA
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:lenet-bench:result:{SCHEMA}",
        "title": "A line of a comparison by lenet-bench",
        "anyOf": list(lines),
        "$defs": components,
    }
    return json.dumps(schema, indent=1) + "\n"
