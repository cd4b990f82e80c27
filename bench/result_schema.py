"""Make the schema of result files, and the tables that explain them, anew from the model.

python bench/result_schema.py             write both
python bench/result_schema.py --check     fail where one is not what the model gives
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lenet_bench.results.schema import make_schema

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "python" / "lenet_bench" / "results" / "result.schema.json"
PAGE = ROOT / "docs" / "result-file.md"
MARKS = "<!-- drawn from the model -->", "<!-- until here -->"


def drawn(page: str, schema: dict[str, Any]) -> str:
    """The page with its tables drawn from the schema."""
    start, end = MARKS
    tables = "\n".join(line for title, kind in kinds(schema) for line in table(title, kind))
    before, _, rest = page.partition(start)
    return f"{before}{start}\n\n{tables}\n{end}{rest.partition(end)[2]}"


def kinds(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The file's own object, then the others in the order in which they are met."""
    yield "The file", schema
    text = json.dumps(schema["properties"]) + json.dumps(schema["$defs"]["RungResult"])
    for name in dict.fromkeys(re.findall(r"#/\$defs/(\w+)", text)):
        yield name, schema["$defs"][name]


def table(title: str, kind: dict[str, Any]) -> Iterator[str]:
    """One object's fields."""
    yield from (f"### {title}", "", kind["description"], "")
    yield from ("| field | type | |", "|---|---|---|")
    for name, field in kind["properties"].items():
        optional = "" if name in kind["required"] else ", optional"
        yield f"| `{name}` | {spell(field)}{optional} | {field['description']} |"
    yield ""


def spell(field: dict[str, Any]) -> str:
    """Its type as a person says it."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(map(spell, field["anyOf"]))
    if isinstance(kinds := field.get("type"), list):
        return " or ".join(spell({**field, "type": kind}) for kind in kinds)
    if kinds == "array":
        return f"list of {spell(field['items'])}"
    if kinds == "object" and field.get("additionalProperties"):
        return f"object of {spell(field['additionalProperties'])}"
    return kinds or "anything"


def main() -> None:
    """Write the files, or check them."""
    text = make_schema()
    wanted = {SCHEMA: text, PAGE: drawn(PAGE.read_text(), json.loads(text))}
    for path, content in wanted.items():
        if "--check" not in sys.argv[1:]:
            path.write_text(content)
        elif not path.exists() or path.read_text() != content:
            name = path.relative_to(ROOT)
            raise SystemExit(f"{name} is stale; mend it with: python bench/result_schema.py")


if __name__ == "__main__":
    main()
