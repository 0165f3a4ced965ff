"""The sum of the exponentials of many values, such as a model's logits: in one pass, several values at a time.

2ˣ is made of the bits of its whole part and a polynomial of the rest. The standard library's function takes one value
at a time, and numpy's writes all of them to memory.
"""

from __future__ import annotations

from math import exp, log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.jit import jit_no_arrays

Values: TypeAlias = NDArray[np.float32]
Bits: TypeAlias = NDArray[np.int32]

BLOCK = 256
"""Values that are looked at together: all that is written meanwhile stays beside the processor."""

_LEAST = np.float32(-126.0)
"""Least exponent of a float32 with all its digits; less weighs nothing beside the highest value, which weighs 1."""
_BIAS = 127
_MANTISSA_BITS = 23
_C0, _C1, _C2, _C3, _C4, _C5 = (
    np.float32(c) for c in (0.99999994, 0.69315308, 0.24015361, 0.055826318, 0.0089893397, 0.0018775767)
)
"""Coefficients of the polynomial that is nearest to 2ˣ for x in [0, 1): no further than 2e-7."""


def sum_of_exponentials(values: Values, top: np.float32, scale: float) -> float:
    """The sum of exp((z - top) / scale) over float32[n], of which `top` is the highest and finite; to some 1e-6.

    -inf weighs nothing. `scale` is above 0.
    """
    if not (values.flags.c_contiguous and values.flags.writeable):
        values = values.copy()  # else loops would be compiled once more, for arrays of this kind
    bits, rests, sums = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    return float(_sum(values, np.float32(top), 1.0 / scale, bits, bits.view(np.float32), rests, sums))


@jit_no_arrays
def _sum(
    values: Values, top: np.float32, rate: float, bits: Bits, powers: Values, rests: Values, sums: Values
) -> float:
    """The sum, given 1 / scale. `powers` are the numbers whose bits are `bits`; the last four are written here."""
    sums[:] = 0.0
    factor = np.float32(rate / log(2.0))
    whole_blocks = len(values) // BLOCK * BLOCK
    for first in range(0, whole_blocks, BLOCK):
        block = values[first : first + BLOCK]
        for at in range(BLOCK):
            exponent = (block[at] - top) * factor
            exponent = exponent if exponent > _LEAST else _LEAST
            whole = np.floor(exponent)
            rest = exponent - whole
            rests[at] = _C0 + rest * (_C1 + rest * (_C2 + rest * (_C3 + rest * (_C4 + rest * _C5))))
            bits[at] = (np.int32(whole) + np.int32(_BIAS)) << np.int32(_MANTISSA_BITS)
        for at in range(BLOCK):
            sums[at] += rests[at] * powers[at]
    total = 0.0
    for at in range(BLOCK):
        total += sums[at]
    for at in range(whole_blocks, len(values)):
        total += exp((values[at] - top) * rate)
    return total
