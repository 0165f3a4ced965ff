#!/bin/sh
# Runs `swyb`. numba reads its compiled loops only where it may write too, and an image may be read-only: so they are
# copied to such a place first.
set -eu
[ -d "$NUMBA_CACHE_DIR" ] || cp -R "$SWYB_LOOPS" "$NUMBA_CACHE_DIR"
exec swyb "$@"
