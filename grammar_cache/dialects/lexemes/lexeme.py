"""A terminal as its lexer matches it: greedily and leftmost-first, so that what follows can undo where it ended.

`re.match` at a position yields one end, and which one depends on the text behind it: `/a+/` ends at a place only if no
further `a` comes. Byte by byte that is two automata. The first reads the lexeme; in some of its states the lexeme
may close. The second, the *watch*, then looks on from outside, in parallel with whatever follows: it turns FATAL
where the regular expression would have ended elsewhere (a longer match is preferred, a lookahead fails), and HARMLESS
as soon as nothing can change any more. This module knows no syntax of regular expressions and no grammar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OPEN = -2
"""Mark in `Lexeme.closes`: the lexeme can't end here."""
HARMLESS = -1
"""Mark in `Lexeme.closes` and `Lexeme.watches`: no later text can undo the end of the lexeme. No watch is needed."""
FATAL = -2
"""Mark in `Lexeme.watches`: with this byte the lexeme ends elsewhere, so the text was cut wrongly."""
DEAD = -1
"""Mark in `Lexeme.moves`: no lexeme begins so."""


@dataclass(frozen=True, slots=True, eq=False)
class Lexeme:
    """`moves` int32[states, 256]: the state after a byte, or DEAD; state 0 is the start, never closing.

    `closes` int32[states]: OPEN, HARMLESS, or the watch state in which the text goes on if the lexeme ends here.
    `label` int32[states]: which of several alternatives has matched where the lexeme may close, else -1.
    `watches` int32[watch states, 256]: the watch state after a byte, HARMLESS or FATAL.
    `ends` bool[watch states]: whether the whole text may end while this watch is on.
    """

    moves: NDArray[np.int32]
    closes: NDArray[np.int32]
    label: NDArray[np.int32]
    watches: NDArray[np.int32]
    ends: NDArray[np.bool_]
