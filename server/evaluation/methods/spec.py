"""Methods as they are named on the command line: `swyb:M=4:alpha=0.5`, a name and its settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from server.decoding.parameters import Parameters

SHORT = {"M": "beam_width", "k": "candidates", "T": "budget"}
"""The paper's letters; every other setting of decoding goes by its own name."""
_NOT_SET_HERE = {"budget", "seed", "stops"}
"""Parameters that the experiment decides."""
_PAPER = Parameters(budget=1)
"""Decoding as the paper has it, which the parameters are unless they are named."""


@dataclass(frozen=True, slots=True)
class Spec:
    """`label` is the text as it was written: what tables show."""

    label: str
    name: str
    settings: Mapping[str, str]

    def only(self, allowed: Iterable[str]) -> None:
        """Raises ValueError for a setting that the method doesn't have."""
        known = sorted(allowed)
        for key in self.settings:
            if key not in known:
                raise ValueError(
                    f"{self.label}: {self.name} has no setting {key!r}; it has: {', '.join(known) or 'none'}"
                )

    def choice(self, key: str, choices: Collection[str], default: str) -> str:
        """One of a few words. Raises ValueError."""
        value = self.settings.get(key, default)
        if value not in choices:
            raise ValueError(f"{self.label}: {key} is one of {', '.join(choices)}")
        return value

    def number(self, key: str, default: float) -> float:
        """A number that isn't negative. Raises ValueError."""
        text = self.settings.get(key, str(default))
        if not text.replace(".", "", 1).isdecimal():
            raise ValueError(f"{self.label}: {text!r} is no number")
        return float(text)


def spec(text: str) -> Spec:
    """Raises ValueError."""
    name, *parts = text.strip().split(":")
    pairs = [part.partition("=") for part in parts]
    keys = [key for key, _, _ in pairs]
    if not name or not all(key and equals and value for key, equals, value in pairs) or len(set(keys)) < len(keys):
        raise ValueError(f"{text!r} is not a method: a name and settings, as in swyb:M=4:alpha=0.5")
    return Spec(text.strip(), name, {key: value for key, _, value in pairs})


def specs(text: str) -> tuple[Spec, ...]:
    """A list with commas, each label once. Raises ValueError."""
    return tuple({made.label: made for made in map(spec, text.split(","))}.values())


def decoding_settings() -> list[str]:
    """Names of settings that `parameters` understands."""
    names = {field.name for field in fields(Parameters)} - _NOT_SET_HERE
    return sorted(names | {short for short, name in SHORT.items() if name in names})


def parameters(given: Spec, defaults: Parameters = _PAPER) -> Parameters:
    """The settings of decoding that a method names, with a budget of 1: each answer has its own. `defaults`: those that
    it doesn't name. Raises ValueError.
    """
    hints = get_type_hints(Parameters)
    known = decoding_settings()
    values = {
        SHORT.get(key, key): _value(text, hints[SHORT.get(key, key)], given, key)
        for key, text in given.settings.items()
        if key in known
    }
    made = replace(defaults, **values)
    if made.beam_width < 1 or made.candidates < 1:
        raise ValueError(f"{given.label}: M and k are at least 1")
    if made.samples and made.alpha > 0:
        raise ValueError(f"{given.label}: alpha guides greedy answers and beams; drawn tokens are not guided")
    return made


def _value(text: str, hint: Any, given: Spec, key: str) -> Any:
    """A text as a value of a field's type: a number, a word of a few, on or off."""
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not NoneType]
    if get_origin(hint) is Literal:
        return given.choice(key, kinds, "")
    if kinds[0] is bool:
        return given.choice(key, ("on", "off"), "") == "on"
    try:
        return kinds[0](text)
    except ValueError as error:
        raise ValueError(f"{given.label}: {text!r} is no value for {key}") from error
