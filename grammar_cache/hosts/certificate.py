"""Certificate of an answer that a host has generated: what was guaranteed, and what it took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Certificate:
    """Certificate of one answer, in tokens."""

    complete: bool
    """Whether the answer belongs to the constraint's language."""
    budget: int
    """Most tokens that the answer might have had."""
    tokens_used: int
    """Number of the answer's tokens, an end token included; that one may follow a text that took the whole budget."""
    min_tokens: int
    """Fewest tokens of any complete answer."""
    exact: bool
    """Whether `min_tokens` can't be lowered; if false, it is an upper bound."""
    tight_steps: int
    """Number of tokens before which the budget kept out something that the constraint allows."""
