#!/usr/bin/env bash
# Shows that all requirements resolve to wheels, for each Python version; nothing is installed.
# Usage: scripts/resolve.sh [VERSION...]   (default: 3.11 3.12 3.13). EXTRAS: default embedded,redis,eval,dev.
# A version whose interpreter is here resolves for itself. For another one PYTHON (default: python3) does, which picks
# its wheels, but takes conditions on `python_version` to be about itself.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

extras=${EXTRAS:-embedded,redis,eval,dev}
python=${PYTHON:-python3}
versions=("$@")
((${#versions[@]})) || versions=(3.11 3.12 3.13)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" .
wheel=$(echo "$work"/swyb-*.whl)

for version in "${versions[@]}"; do
  interpreter=("python$version") other=()
  if ! "${interpreter[@]}" -c "import pip" 2>/dev/null; then
    interpreter=("$python") other=(--python-version "$version" --target "$work/none")
  fi
  "${interpreter[@]}" -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed \
    --only-binary :all: --report "$work/report.json" ${other[@]+"${other[@]}"} "$wheel[$extras]"
  "$python" - "$version" "$work/report.json" <<'END'
import json
import sys

version, path = sys.argv[1:]
found = {each["metadata"]["name"]: each["metadata"]["version"] for each in json.load(open(path))["install"]}
chosen = ", ".join(f"{name} {found[name]}" for name in ("torch", "transformers", "numba", "numpy") if name in found)
print(f"Python {version}: {len(found)} packages resolve; {chosen}")
END
done
