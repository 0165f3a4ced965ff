"""Names that other servers have for our fields: `n_predict` is `max_tokens`, and Ollama's `options` hold several."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from server.protocol.errors import ApiError, ErrorCode
from server.protocol.foreign.engines import OPTIONS
from server.protocol.foreign.field import among
from server.protocol.foreign.reading import Reading, without_neutral


@dataclass(frozen=True, slots=True)
class OtherName:
    """Another name of our field `ours`.

    `values`: pairs of a value and what it is in ours; null: absence. `others`: whether other values are as in ours;
    else they stay where they are, to be refused.
    """

    ours: str
    values: Sequence[tuple[object, object]] = ()
    others: bool = True

    def takes(self, value: object) -> bool:
        """Whether the value means something in our field."""
        return self.others or among(value, [theirs for theirs, _ in self.values])

    def of(self, value: object) -> object:
        """The value of our field."""
        return next((ours for theirs, ours in self.values if among(value, [theirs])), value)


OTHER_NAMES: Mapping[str, OtherName] = {
    "min_new_tokens": OtherName("min_tokens"),
    "n_cmpl": OtherName("n"),
    "n_predict": OtherName("max_tokens", ((-1, None),)),
    "reasoning_budget": OtherName("thinking_budget", ((-1, None),)),
    "reasoning_budget_tokens": OtherName("thinking_budget", ((-1, None),)),
    "repeat_penalty": OtherName("repetition_penalty"),
    "thinking_token_budget": OtherName("thinking_budget", ((-1, None),)),
}
"""Names at the top of a request."""

_SAME = (
    *("frequency_penalty", "min_p", "presence_penalty", "repeat_last_n", "seed", "stop", "temperature"),
    *("top_k", "top_p"),
)
IN_OPTIONS: Mapping[str, OtherName] = {
    **{name: OtherName(name) for name in _SAME},
    "num_predict": OtherName("max_tokens", ((-1, None), (-2, None))),
    "repeat_penalty": OtherName("repetition_penalty"),
}
"""Names in `options`, which other members of are in `server.protocol.foreign.engines`."""


def honours_options(known: Collection[str]) -> bool:
    """Whether a request with these members has an answer written, to which `options` apply."""
    return all(other.ours in known for other in IN_OPTIONS.values())


def by_our_names(given: Mapping[str, object], known: Collection[str], reading: Reading) -> dict[str, object]:
    """Members of a body under our names, which `reading` remembers the others of.

    `known`: members that the body's model has; names of others stay. Raises ApiError for one thing that is said twice,
    and for members of `options` that can't be honoured.
    """
    kept = dict(given)
    found = [(name, other, kept[name]) for name, other in OTHER_NAMES.items() if name in kept]
    options = kept.get("options")
    if isinstance(options, dict) and honours_options(known):
        del kept["options"]
        members = without_neutral(options, IN_OPTIONS, OPTIONS, "options.", reading)
        found += [(f"options.{name}", IN_OPTIONS[name], value) for name, value in members.items()]
    for path, other, value in found:
        if value is None or other.ours not in known or not other.takes(value):
            continue
        kept.pop(path, None)
        meant = other.of(value)
        if meant is None:
            continue
        before = kept.get(other.ours)
        if before is not None and before != meant:
            name = reading.other_names.get(other.ours, other.ours)
            message = f"{name} and {path} are two names of one thing, and differ: send one of them"
            raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param=path)
        kept[other.ours] = meant
        reading.other_names[other.ours] = path
    return kept
