"""SynCode as a logits processor, in its default mode (`grammar_strict`), without trying the model's choice first.

Where its parser fails, it constrains nothing from there on: then every token may follow, and the text may end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from syncode.grammar_mask.logits_processor import (  # type: ignore[import-not-found, unused-ignore]
    SyncodeLogitsProcessor,
)
from syncode.parsers.grammars import Grammar as Lark  # type: ignore[import-not-found, unused-ignore]
from transformers import PreTrainedTokenizerFast

if TYPE_CHECKING:
    from server.evaluation.peers.workers.main import Vocabulary

PACKAGE = "syncode"
MODE = "grammar_strict"


class Engine:
    """Engine that knows one end token: the first. What it caches goes to the folder that it is run in."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._size = len(vocabulary.tokens)
        self._stop = vocabulary.stops[0]
        self._tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(vocabulary.folder / "tokenizer.json"))
        self._tokenizer.eos_token = self._tokenizer.convert_ids_to_tokens(self._stop)

    def compile(self, form: str, text: str) -> Grammar:
        if form != "lark":
            raise ValueError(f"there is no form {form!r}")
        return Grammar(SyncodeLogitsProcessor(Lark(text), self._tokenizer, mode=MODE), self._size, self._stop)


class Grammar:
    """All texts share the processor: its parser goes back to where a text and the one before it part."""

    def __init__(self, processor: Any, size: int, stop: int) -> None:
        self._processor = processor
        self._size = size
        self._stop = stop

    def start(self) -> Session:
        return Session(self._processor, self._size, self._stop)


class Session:
    def __init__(self, processor: Any, size: int, stop: int) -> None:
        self._processor = processor
        self._scores = torch.zeros(1, size)
        self._tokens = [stop]

    def append(self, token: int) -> None:
        self._tokens.append(token)

    def mask(self) -> NDArray[np.uint8]:
        # What comes before the answer is one token here; the processor takes the first call's length for it.
        self._processor.grammar_engine.start_from = 1
        masked = self._processor(torch.tensor([self._tokens]), self._scores.clone())
        return np.packbits(torch.isfinite(masked)[0].numpy(), bitorder="little")


def load(vocabulary: Vocabulary) -> Engine:
    return Engine(vocabulary)
