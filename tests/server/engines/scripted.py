"""An engine without a model: a function of each row's text says the logits. For tests and dry runs.

The function is given the tokens after the prompt (the prompt itself counts nowhere), so that the same answers
follow from every prompt. Knows no grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.engines.contract import Engine, EngineError, Forward, Message, PromptTooLong, Rendering, SequenceId

History: TypeAlias = tuple[int, ...]
Script: TypeAlias = Callable[[History], NDArray[np.float32]]
"""Function from the tokens of a row after the prompt to logits of the vocabulary's size."""


class ScriptedEngine(Engine):
    """See `Engine`. `steps` counts calls of `step`, `rows_computed` the rows they asked for."""

    def __init__(
        self, vocabulary: Vocabulary, logits: Script, *, name: str = "scripted", context_window: int = 4096
    ) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self.context_window = context_window
        self.steps = 0
        self.rows_computed = 0
        self._logits = logits
        self._first_id = {
            spelling: int(vocabulary.token_list[vocabulary.token_offsets[number]])
            for number, spelling in enumerate(vocabulary.strings)
        }
        self._ids = count(1)
        self._rows: dict[SequenceId, tuple[History, ...] | None] = {}

    @property
    def open_sequences(self) -> int:
        """Sequences that were neither closed nor failed."""
        return len(self._rows)

    def encode(
        self, messages: Sequence[Message], most: int | None = None, rendering: Rendering | None = None
    ) -> list[int]:
        """The contents, one a line; see `split`."""
        if not messages or not all({"role", "content"} <= message.keys() for message in messages):
            raise ValueError("a chat is at least one message, each with a role and a content")
        text = "\n".join(message["content"] for message in messages)
        return self._up_to(text, most)

    def encode_text(self, text: str, most: int | None = None, *, special: bool = True) -> list[int]:
        """See `split`; this tokenizer has one mark, a NUL before a text."""
        return self._up_to(f"\0{text}" if special else text, most)

    def _up_to(self, text: str, most: int | None) -> list[int]:
        tokens = list(self._tokens(text) if most is None else islice(self._tokens(text), most + 1))
        if not tokens:
            raise ValueError("a prompt needs at least one token")
        if most is not None and len(tokens) > most:
            raise PromptTooLong(f"the chat has more than {most} tokens")
        return tokens

    def split(self, text: str) -> list[int]:
        """Tokens of a text by greedy longest match; a byte that no token spells is token 0."""
        return list(self._tokens(text))

    def token_names(self, ids: Sequence[int]) -> list[str]:
        """The text of each; the mark of an end is named by its id."""
        spelled = [self.vocabulary.token_bytes[token] for token in ids]
        return [f"<{t}>" if b is None else b.decode(errors="replace") for t, b in zip(ids, spelled, strict=True)]

    def _tokens(self, text: str) -> Iterator[int]:
        data = text.encode()
        at = 0
        while at < len(data):
            pieces = (data[at : at + size] for size in range(self.vocabulary.longest, 0, -1))
            piece = next((piece for piece in pieces if piece in self._first_id), b"")
            yield self._first_id.get(piece, 0)
            at += max(1, len(piece))

    def open(self, prompt: Sequence[int]) -> SequenceId:
        if len(prompt) > self.context_window:
            raise ValueError(f"a prompt has at most {self.context_window} tokens, not {len(prompt)}")
        sequence = next(self._ids)
        self._rows[sequence] = None
        return sequence

    def step(self, forwards: Sequence[Forward]) -> list[NDArray[np.float32] | EngineError]:
        if len({forward.sequence for forward in forwards}) != len(forwards):
            raise ValueError("a sequence takes one step at a time")
        self.steps += 1
        return [self._forward(forward) for forward in forwards]

    def close(self, sequence: SequenceId) -> None:
        self._rows.pop(sequence, None)

    def shutdown(self) -> None:
        self._rows.clear()

    def _forward(self, forward: Forward) -> NDArray[np.float32] | EngineError:
        try:
            histories = self._histories(forward)
            self.rows_computed += len(histories)
            logits = np.stack([self._checked(self._logits(history)) for history in histories])
        except Exception as error:  # a script may raise anything: it stands for a model that fails
            self.close(forward.sequence)
            failure = EngineError(f"the script failed this request: {error}")
            failure.__cause__ = error
            return failure
        self._rows[forward.sequence] = histories
        return logits

    def _histories(self, forward: Forward) -> tuple[History, ...]:
        if forward.sequence not in self._rows:
            raise ValueError(f"sequence {forward.sequence} is not open")
        before = self._rows[forward.sequence]
        if before is None:
            if forward.parents != (0,) or forward.tokens != ((),):
                raise ValueError("the first step of a sequence asks for the logits after its prompt")
            return ((),)
        if not forward.parents or not all(0 <= parent < len(before) for parent in forward.parents):
            raise ValueError(f"parents {forward.parents} of a step that had {len(before)} rows")
        if not all(tokens and self._known(tokens) for tokens in forward.tokens):
            raise ValueError("a row is extended by at least one token of the vocabulary")
        pairs = zip(forward.parents, forward.tokens, strict=True)
        return tuple(before[parent] + tokens for parent, tokens in pairs)

    def _known(self, tokens: Sequence[int]) -> bool:
        return all(0 <= token < self.vocabulary.size for token in tokens)

    def _checked(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        if logits.shape != (self.vocabulary.size,) or logits.dtype != np.float32:
            raise ValueError(f"a script owes float32 logits of {self.vocabulary.size} tokens")
        return logits
