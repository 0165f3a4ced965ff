"""Whether a text has more tokens than a model takes, known without tokenising it.

Tokenising takes a hundred times the memory of a text. A tokenizer that loses nothing spells the text, as it normalises
it, by pieces of its vocabulary, so it makes at least as many tokens as the fewest of these pieces that spell it.
Whether a tokenizer is of that kind is read off its parts; of others nothing is known, and nothing is refused.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from grammar_cache.vocabulary.fewest_pieces import FewestPieces
from grammar_cache.vocabulary.vocabulary import Vocabulary

_SPACE = "\u2581"
"""Character that SentencePiece writes for a space."""
_YOUNG = re.compile("[\U00010000-\U0001efff\U0001fb00-\U0010ffff]")
"""Characters that later versions of Unicode than Python's may compose. Emoji are between the two."""
_KEEP_ALL = {"ByteLevel", "Digits", "Metaspace", "Split", "Punctuation"}
"""Pre-tokenizers that cut the text and drop nothing, unless they are told to."""


class PromptBound:
    """Bound for one tokenizer of the `tokenizers` library with its vocabulary; any thread may ask."""

    def __init__(self, tokenizer: Any, vocabulary: Vocabulary) -> None:
        self._added = tuple(tokenizer.get_added_tokens_decoder().values())
        self._normalizers = tuple(_parts(tokenizer.normalizer, "normalizers"))
        self._cuts = tuple(_parts(tokenizer.pre_tokenizer, "pretokenizers"))
        self._model = tokenizer.model
        present = {token for token in vocabulary.strings if len(token) == 1}
        # A byte that no token spells is dropped, and what stands around it may be one token.
        self._missing = bytes(byte for byte in range(256) if bytes([byte]) not in present)
        self._known = self._is_faithful()
        self._vocabulary = vocabulary
        self._fewest: FewestPieces | None = None

    def more_than(self, text: str, most: int) -> bool:
        """Whether the tokenizer certainly makes more tokens than that of a text. False where that isn't known."""
        if not self._known:
            return False
        spelled = self._normalised(text)
        if spelled is None:
            return False
        if self._fewest is None:
            self._fewest = FewestPieces(self._pieces())
        return self._fewest.more_than(self._bytes(spelled), most)

    def _is_faithful(self) -> bool:
        byte_level = any(part["type"] == "ByteLevel" for part in self._cuts)
        return (
            type(self._model).__name__ == "BPE"
            and not self._model.dropout
            and (byte_level or (self._model.byte_fallback and not self._missing))
            and all(part["type"] in _KEEP_ALL and part.get("behavior") != "Removed" for part in self._cuts)
            and all(_is_known(part) for part in self._normalizers)
            and not any(token.lstrip or token.rstrip or token.single_word for token in self._added)
        )

    def _normalised(self, text: str) -> str | None:
        """The text as the tokenizer normalises it, but for spaces before it; None where that isn't known."""
        for part in self._normalizers:
            if part["type"] == "Replace":
                text = text.replace(part["pattern"]["String"], part["content"])
            elif part["type"] == "NFC":
                if _YOUNG.search(text):
                    return None
                text = self._composed(text)
        return text.replace(_SPACE, " ")

    def _composed(self, text: str) -> str:
        if unicodedata.is_normalized("NFC", text):
            return text
        contents = sorted((token.content for token in self._added), key=len, reverse=True)
        # Added tokens are cut out first: what follows one is not composed with its end.
        pieces = re.split(f"({'|'.join(map(re.escape, contents)) or '(?!)'})", text)
        return "".join(unicodedata.normalize("NFC", piece) for piece in pieces)

    def _pieces(self) -> Iterator[bytes]:
        """Spellings that one token may stand for: without its first space too, since some tokenizers put one before a
        text.
        """
        for token in self._vocabulary.strings:
            for piece in (token, token.removeprefix(b" ")):
                yield piece.translate(None, self._missing)
        for added in self._added:
            yield self._bytes(self._normalised(added.content) or added.content)
            yield self._bytes(added.content)
        if self._model.byte_fallback:
            yield from (f"<0x{byte:02X}>".encode() for byte in range(256))

    def _bytes(self, text: str) -> bytes:
        return text.encode().translate(None, self._missing)


def _parts(part: Any, several: str) -> Iterator[Mapping[str, Any]]:
    """A part of a tokenizer, or those that it consists of, as its file has them."""
    if part is None:
        return
    told = json.loads(part.__getstate__())
    todo = [told]
    while todo:
        one = todo.pop(0)
        if one["type"] == "Sequence":
            todo = [*one[several], *todo]
        else:
            yield one


def _is_known(normalizer: Mapping[str, Any]) -> bool:
    if normalizer["type"] == "Replace":
        return set(normalizer["pattern"]) == {"String"}
    if normalizer["type"] == "Prepend":
        return normalizer["prepend"] in {_SPACE, " "}
    return bool(normalizer["type"] == "NFC")
