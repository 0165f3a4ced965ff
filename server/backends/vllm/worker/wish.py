"""Wishes for a row of logits: what a step will mostly ask of it, so that it can be brought together with others."""

from __future__ import annotations

from dataclasses import dataclass

from server.decoding.logits import Tokens


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """Values that a step will mostly ask of its row: the highest `count`, those of some tokens, the mass at a
    temperature.
    """

    count: int
    tokens: Tokens
    temperature: float
