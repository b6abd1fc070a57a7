"""Write runtime_glue/web/schema.js, the schedule's JSON Schema as the web runtime imports it.

    python tools/make_web.py            rewrite it
    python tools/make_web.py --check    exit with 1 when it is out of date

What only people read is left out. tests/test_web_load.py runs the check.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

GLUE = Path(__file__).resolve().parents[1] / "runtime_glue"
TARGET = GLUE / "web" / "schema.js"
FOR_PEOPLE = ("$schema", "title", "description")


def rules(schema: Any) -> Any:
    """Return a schema in fewer words.

    What people read is left out; a reference is the name alone; a closed object has ``members``,
    all of which it needs but those ``optional``.
    """
    if isinstance(schema, list):
        return [rules(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix("#/$defs/")
    kept = {key: part for key, part in schema.items() if key not in FOR_PEOPLE}
    for key in ("properties", "$defs"):
        if key in kept:
            kept[key] = {name: rules(part) for name, part in kept[key].items()}
    if kept.pop("additionalProperties", True) is False:
        kept["members"] = kept.pop("properties")
        needed = kept.pop("required", ())
        if optional := [name for name in kept["members"] if name not in needed]:
            kept["optional"] = optional
        if kept["type"] == "object":  # which members imply
            del kept["type"]
    as_they_are = ("members", "properties", "$defs", "optional", "required", "enum", "const")
    return {key: part if key in as_they_are else rules(part) for key, part in kept.items()}


def module() -> str:
    schema = json.loads((GLUE / "schedule.schema.json").read_text("utf-8"))
    text = json.dumps(rules(schema), separators=(",", ":"))
    return f"// Written by tools/make_web.py from schedule.schema.json.\nexport default {text};\n"


def main() -> int:
    if TARGET.exists() and TARGET.read_text("utf-8") == module():
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{TARGET.name} is out of date")
        return 1
    TARGET.write_text(module(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
