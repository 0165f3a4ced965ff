#!/usr/bin/env bash
# Starts an image as docs/how-to/deploy.md does, asks it for answers, and ends it: 0 if all is well.
# Usage: scripts/smoke_image.sh IMAGE   (DOCKER: the program, docker; PORT: of this machine, 18000; PYTHON: python3)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

image=$1 docker=${DOCKER:-docker} port=${PORT:-18000} name=swyb-smoke-$$
finish() { "$docker" rm --force "$name" >/dev/null 2>&1 || true; }
trap finish EXIT

"$docker" run --detach --name "$name" --init --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges:true \
  --publish "127.0.0.1:$port:8000" "$image" >/dev/null
if ! "${PYTHON:-python3}" -m scripts.smoke "http://127.0.0.1:$port"; then
  "$docker" logs "$name" >&2
  exit 1
fi
"$docker" stop --time 60 "$name" >/dev/null
status=$("$docker" inspect --format '{{.State.ExitCode}}' "$name")
echo "ended with status $status"
[ "$status" = 0 ]
