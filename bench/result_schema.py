"""Draw the tables of docs/result-file.md, of a result's three kinds of lines, from the model.

python bench/result_schema.py             write the page
python bench/result_schema.py --check     fail where it is not what the model gives
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lenet_bench.results.schema import make_schema

PAGE = Path(__file__).parents[1] / "docs" / "result-file.md"
MARKS = "<!-- drawn from the model -->", "<!-- until here -->"
LINES = "Header", "Block", "End"


def drawn(page: str, kinds: dict[str, Any]) -> str:
    """The page with its tables drawn anew."""
    start, end = MARKS
    tables = "\n".join(line for name in LINES for line in table(name, kinds[name]))
    before, _, rest = page.partition(start)
    return f"{before}{start}\n\n{tables}\n{end}{rest.partition(end)[2]}"


def table(title: str, kind: dict[str, Any]) -> Iterator[str]:
    """One object's fields."""
    yield from (f"### {title}", "", kind["description"], "")
    yield from ("| field | type | |", "|---|---|---|")
    for name, field in kind["properties"].items():
        optional = "" if name in kind.get("required", ()) else ", optional"
        yield f"| `{name}` | {spell(field)}{optional} | {field.get('description', '')} |"
    yield ""


def spell(field: dict[str, Any]) -> str:
    """Its type as a person says it."""
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(map(spell, field["anyOf"]))
    if parts := field.get("prefixItems"):
        return f"[{', '.join(map(spell, parts))}]"
    if field.get("type") == "array":
        return f"list of {spell(field['items'])}"
    if field.get("type") == "object" and field.get("additionalProperties"):
        return f"object of {spell(field['additionalProperties'])}"
    return re.sub("^$", "anything", field.get("type", ""))


def main() -> None:
    """Write the page, or check it."""
    content = drawn(PAGE.read_text(), json.loads(make_schema())["$defs"])
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(content)
    elif PAGE.read_text() != content:
        raise SystemExit(f"{PAGE.name} is stale; fix it with: python bench/result_schema.py")


if __name__ == "__main__":
    main()
