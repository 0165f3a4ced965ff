"""Fields that say how tokens are chosen, for every request that has an answer written."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from server.protocol.strict import StrictModel

STOPS = 64
STOP_CHARACTERS = 4_000
"""Characters of all stop texts together: after each token it is asked whether one of them has begun."""
BIASES = 1_024
"""Tokens of one request whose logits are changed."""
STOP_IDS = 256
LONGEST_ID = 9
"""Digits of a token id."""


def _listed(stop: object) -> object:
    """One stop text is a list of one; empty texts stop nothing."""
    texts = [stop] if isinstance(stop, str) else stop
    return [text for text in texts if text != ""] or None if isinstance(texts, list) else texts


def _short(stops: list[str]) -> list[str]:
    if sum(map(len, stops)) > STOP_CHARACTERS:
        raise PydanticCustomError("stop_texts", f"at most {STOP_CHARACTERS:,} characters of all texts together")
    return stops


def _token_ids(biases: dict[str, float]) -> dict[str, float]:
    for name in biases:
        if not (name.isascii() and name.isdecimal() and len(name) <= LONGEST_ID and str(int(name)) == name):
            raise PydanticCustomError("token_id", 'a token is named by its id, as in {"50256": -100}')
    return biases


StopText: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000)]
StopTexts: TypeAlias = Annotated[list[StopText], Field(max_length=STOPS, fail_fast=True), AfterValidator(_short)]
Bias: TypeAlias = Annotated[float, Field(ge=-100.0, le=100.0)]
TokenId: TypeAlias = Annotated[int, Field(ge=0)]


class SamplingFields(StrictModel):
    """Common fields of requests; `server.planning` makes `Parameters` of them."""

    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    """0 is greedy. Above 0 tokens are drawn from the model's distribution over the viable tokens. Default 1; with beams
    0.
    """
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    """Truncates what is drawn from to the likeliest tokens of this mass; counts viable tokens only. Not with beams."""
    top_k: int | None = Field(default=None, ge=-1)
    """Truncates what is drawn from to so many tokens; 0 and -1 mean all. Not with beams."""
    min_p: float | None = Field(default=None, ge=0.0, le=1.0)
    """Truncates what is drawn from to tokens at least so many times as likely as the likeliest viable one. Not with
    beams.
    """
    presence_penalty: float | None = Field(default=None, ge=-2.0, le=2.0)
    """Taken off the logit of each token that the answer has already."""
    frequency_penalty: float | None = Field(default=None, ge=-2.0, le=2.0)
    """Taken off the logit of a token for each time that the answer has it."""
    repetition_penalty: float | None = Field(default=None, ge=0.01, le=100.0)
    """Above 1, makes tokens of the messages and of the answer less likely: divides a positive logit, multiplies a
    negative one. Default 1.
    """
    repeat_last_n: int | None = Field(default=None, ge=-1)
    """Tokens that the three penalties look back at, from the end of messages and answer; 0: none, so that there are no
    penalties; -1: all. Name of llama.cpp's and Ollama's. Default -1.
    """
    logit_bias: Annotated[dict[str, Bias], Field(max_length=BIASES), AfterValidator(_token_ids)] | None = None
    """Numbers added to logits, by the id of the token: -100 to 100, for up to 1,024 tokens. Under a constraint the
    least likely token is still taken where no other one is viable.
    """
    seed: int | None = Field(default=None, ge=-(1 << 63), lt=1 << 64)
    """Fixes the draws: equal seeds, equal draws."""
    min_tokens: int | None = Field(default=None, ge=0)
    """No end is taken before so many tokens, where another token is viable: an answer that its constraint or the budget
    ends is shorter. At most the budget. Not with beams.
    """
    ignore_eos: bool | None = None
    """Writes on where the model would end, up to the budget. Not with a constraint."""
    stop: Annotated[
        StopTexts | None,
        BeforeValidator(_listed, json_schema_input_type=Annotated[str, Field(max_length=1_000)] | StopTexts | None),
    ] = None
    """One text or up to 64, of up to 1,000 characters each and 4,000 together; the empty text stops nothing. Plain text
    ends before the first of them. With a constraint it is accepted where no answer can contain it, so that it never
    cuts one, and else refused with such an answer.
    """
    stop_token_ids: Annotated[list[TokenId], Field(max_length=STOP_IDS, fail_fast=True)] | None = None
    """Ids of up to 256 tokens that end plain text as end tokens do. With a constraint they are accepted where `stop`
    would be.
    """
