"""Write the files of the runtimes that are made from a common source.

    python tools/make_web.py            rewrite them
    python tools/make_web.py --check    exit with 1 when one is out of date

Of runtime_glue, schedule.schema.json becomes web/schema.js and cpp/src/schema.hpp, python/rules.py
becomes web/rules.js and cpp/src/rules.cpp.
tests/runtimes/web/test_load.py runs the check.
"""

from __future__ import annotations

import ast
import copy
import json
import sys
from pathlib import Path

import click
from runtimes import members, rules_cpp, rules_js, schema_cpp, schema_js

GLUE = Path(__file__).resolve().parents[1] / "runtime_glue"


def modules() -> dict[Path, str]:
    """Return the text of each file."""
    schema = json.loads((GLUE / "schedule.schema.json").read_text("utf-8"))
    rules = ast.parse((GLUE / "python" / "rules.py").read_text("utf-8"))
    return {
        GLUE / "python" / "members.py": members.python(schema),
        GLUE / "web" / "members.js": members.javascript(schema),
        GLUE / "cpp" / "src" / "rules.cpp": rules_cpp.module(rules),
        GLUE / "web" / "rules.js": rules_js.module(rules),
        GLUE / "web" / "schema.js": schema_js.module(copy.deepcopy(schema)),
        GLUE / "cpp" / "src" / "schema.hpp": schema_cpp.module(schema),
    }


def main() -> int:
    old = {
        path: text
        for path, text in modules().items()
        if not path.exists() or path.read_text("utf-8") != text
    }
    if old and "--check" in sys.argv[1:]:
        click.echo(f"out of date: {', '.join(path.name for path in old)}")
        return 1
    for path, text in old.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
