#!/bin/sh
# Runs `swyb`. numba reads its compiled loops only where it may write too, and an image may be read-only: so they are
# copied to such a place first, whole or not at all: a copy that was cut short may outlive its container.
set -eu
if [ ! -d "$NUMBA_CACHE_DIR" ]; then
  rm -rf "$NUMBA_CACHE_DIR.part"
  cp -R "$SWYB_LOOPS" "$NUMBA_CACHE_DIR.part"
  mv "$NUMBA_CACHE_DIR.part" "$NUMBA_CACHE_DIR"
fi
exec swyb "$@"
