"""`python -m server`, which is the command `swyb` too.

The processes that vLLM starts import this module once more, so it imports nothing by itself: they begin sooner, and on
a processor vLLM doesn't bear that numba is there before it.
"""

from __future__ import annotations

import sys


def main() -> int:
    """The process's exit status; see `server.cli`."""
    from server.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
