#!/usr/bin/env bash
# Check style with ruff and types with mypy. The root of the checkout is the package shadergen,
# whatever the checkout's folder is called; mypy goes by folder names, so it is shown the package's
# parts under a folder of the right name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="$PWD/.venv/bin:$PATH"

status=0
ruff check . || status=1
ruff format --check . || status=1

shown=.venv/lint/shadergen
rm -rf .venv/lint
mkdir -p "$shown"
for part in *.py py.typed backends compiler ir passes runtime_glue; do
    if [ -e "$part" ]; then ln -s "$PWD/$part" "$shown/$part"; fi
done
MYPYPATH=.venv/lint mypy -p shadergen --cache-dir .mypy_cache | sed "s#^$shown/##" || status=1
exit "$status"
