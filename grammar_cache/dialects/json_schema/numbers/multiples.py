"""Multiples: which numbers are some, which conditions about them say the same, and the automata of their digits."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from math import gcd, lcm

import numpy as np

from grammar_cache.automata.minimisation import minimal
from grammar_cache.errors import LimitExceeded
from grammar_cache.loops.array_types import Flags, Ints

LARGEST_DIVISOR = 2_000
"""Largest divisor, of which the tens are taken out: 3,600,000 counts as 36."""
_LARGEST_TOGETHER = 10_000
_WIDEST = 100
"""Powers of ten between steps that must hold together."""
EXACTLY = Context(prec=20_000, Emin=-999_999, Emax=999_999)
"""Context in which no number of a schema is rounded."""


def reduced(wanted: Sequence[Decimal], unwanted: Sequence[Decimal]) -> tuple[list[Decimal], list[Decimal]] | None:
    """Reduces the conditions to fewer steps: at most one whose multiples are wanted, and no step that another covers.

    None where no number meets them. Raises LimitExceeded where the common multiple is too large.
    """
    together = [_common(wanted)] if wanted else []
    if any(is_multiple(step, other) for step in together for other in unwanted):
        return None
    if together and without_tens(together[0], 0)[1] > _LARGEST_TOGETHER:
        message = f"common multiples of more than {_LARGEST_TOGETHER}, its tens apart"
        raise LimitExceeded(message, limit="rules")
    left = list(dict.fromkeys(_beside(step, together[0]) if together else step for step in unwanted))
    return together, [
        step
        for place, step in enumerate(left)
        if not any(
            is_multiple(step, other) and (step != other or at < place) for at, other in enumerate(left) if at != place
        )
    ]


def _common(steps: Sequence[Decimal]) -> Decimal:
    """The least common multiple."""
    exponents = [int(step.as_tuple().exponent) for step in steps]
    low = min(exponents)
    if max(exponents) - low > _WIDEST:
        raise LimitExceeded(f"multiples of steps more than {_WIDEST} powers of ten apart", limit="rules")
    return EXACTLY.scaleb(Decimal(lcm(*(int(EXACTLY.scaleb(step, -low)) for step in steps))), low)


def _beside(step: Decimal, wanted: Decimal) -> Decimal:
    """The least step that the same multiples of `wanted` are multiples of."""
    low = min(int(step.as_tuple().exponent), int(wanted.as_tuple().exponent))
    if max(step.adjusted(), wanted.adjusted()) - low > _WIDEST:
        return step
    left, have = (int(EXACTLY.scaleb(number, -low)) for number in (step, wanted))
    # The primes that the step has more often than `wanted`, as often as the step has them; the others are given.
    return EXACTLY.scaleb(Decimal(_part(left, left // gcd(left, have))), low)


def _part(number: int, primes: int) -> int:
    """The largest divisor of a number that has no prime but those of another."""
    rest = number
    while (shared := gcd(rest, primes)) > 1:
        rest //= shared
    return number // rest


def without_tens(step: Decimal, fraction: int) -> tuple[int, int]:
    """The divisor of numbers in units of that digit of the fraction, as tens and the rest."""
    _, digits, exponent = step.as_tuple()
    divisor, tens = int("".join(map(str, digits))), int(exponent) + fraction
    while divisor % 10 == 0:
        divisor //= 10
        tens += 1
    if tens < 0:
        divisor //= gcd(divisor, 10 ** min(-tens, divisor.bit_length()))  # a unit holds these anyway
        tens = 0
    return tens, divisor


def within(step: Decimal, low: Decimal, high: Decimal, most: int) -> list[Decimal] | None:
    """The multiples of a step from `low`, which is not negative, to `high`, or None where they are more than `most`."""
    if max(map(Decimal.adjusted, (step, low, high))) > _WIDEST or min(map(_lowest, (step, low, high))) < -_WIDEST:
        return None
    if EXACTLY.subtract(high, low) >= EXACTLY.multiply(step, Decimal(most)):
        return None
    first = int(EXACTLY.divide_int(low, step))
    found = (EXACTLY.multiply(step, Decimal(first + count)) for count in range(most + 2))
    return [value for value in found if low <= value <= high]


def _lowest(value: Decimal) -> int:
    return int(value.as_tuple().exponent)


def is_multiple(value: Decimal, step: Decimal) -> bool:
    """Exactly, for exponents of any size."""
    _, digits, exponent = value.as_tuple()
    _, step_digits, step_exponent = step.as_tuple()
    number, divisor = int("".join(map(str, digits))), int("".join(map(str, step_digits)))
    shift = int(exponent) - int(step_exponent)
    if shift >= 0:
        return number * pow(10, shift, divisor) % divisor == 0
    return number == 0 or (-shift <= len(digits) and number % (divisor * 10**-shift) == 0)


def places(step: Decimal) -> int:
    """Digits that its multiples have after the point, at most."""
    digits = step.as_tuple()
    kept = "".join(map(str, digits.digits)).rstrip("0")
    return max(0, -(int(digits.exponent) + len(digits.digits) - len(kept)))


def remainders(tens: int, divisor: int) -> tuple[Ints, Flags]:
    """The automaton of the multiples of 10^tens times the divisor: where each digit leads, int32[states, 10], and
    which states hold.

    A state is a number of zeros at the end, up to `tens`, and the remainder of what stands before them; zero, which has
    any number of them, is the first.
    """
    table = np.empty((tens + 1, divisor, 10), np.int32)
    rest = np.arange(divisor, dtype=np.int32)
    for zeros in range(tens + 1):
        scale = pow(10, zeros + 1, divisor)
        table[tens - zeros] = tens * divisor + (rest[:, None] * scale + np.arange(10)) % divisor
        table[tens - zeros, :, 0] = (tens - zeros - 1) * divisor + rest if zeros < tens else rest * 10 % divisor
    holds = np.zeros((tens + 1) * divisor, np.bool_)
    holds[0] = True
    return table.reshape(-1, 10), holds


def fewest(table: Ints, holds: Flags) -> tuple[Ints, Flags]:
    """Automaton with equivalent states joined, where every state is reached from the first and leads to one that
    holds."""
    states = np.arange(len(holds), dtype=np.int32)
    digits = np.arange(10, dtype=np.int32)
    _, _, heads, ends = minimal(np.repeat(states, 10), np.tile(digits, len(holds)), table.ravel(), holds)
    return heads.reshape(-1, 10), ends
