"""A chat becomes token ids, by the model's own template. Knows tokenizers and templates, no model."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment, TemplateError
from jinja2.meta import find_undeclared_variables
from transformers import AutoTokenizer

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.engines import plain_turns
from server.engines.contract import ChatTemplate, Message, PromptTooLong, Rendering, UnknownVariable
from server.engines.prompt_bound import PromptBound
from server.engines.special_text import SpecialText
from server.engines.thought_marks import thinking_template

BOUND_BYTES = 256 << 10
"""Shorter chats are tokenised without asking first whether they can fit: it takes a tenth of a second."""

_PROBE = ({"role": "user", "content": "probe"},)
"""Chat by which the opening of a turn is looked at."""

_GENERATION = re.compile(r"{%-?\s*(end)?generation\s*-?%}")
"""Statement of `transformers` in templates, which Jinja doesn't know."""


_SHORT_IDS = re.compile(r"length (?:>= )?9")
"""Complaint of Mistral's templates about ids of calls."""


class ChatEncoder:
    """The tokenizer of a local model folder with its chat template; any thread may use it."""

    def __init__(self, path: Path, vocabulary: Vocabulary | None = None) -> None:
        """`vocabulary`: the tokenizer's, by which a chat that is too long is known without tokenising it."""
        self._tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        # Fast tokenizers refuse to be borrowed by two threads while one of them changes its padding.
        self._lock = threading.Lock()
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        self._bound = PromptBound(backend, vocabulary) if backend is not None and vocabulary is not None else None
        added = self._tokenizer.added_tokens_decoder.values()
        self._special = SpecialText({token.content for token in added if token.special})

    def encode(
        self, messages: Sequence[Message], most: int | None = None, rendering: Rendering | None = None
    ) -> list[int]:
        """See `ChatModel.encode`. Special tokens in what the messages say are encoded as text."""
        if not messages:
            raise ValueError("a chat needs at least one message")
        rendering = rendering or Rendering()
        self._check(rendering)
        said = [self._in_the_templates_words(messages, rendering.tools), rendering.tools, dict(rendering.variables)]
        marking = self._special.marking(self.template, said)
        try:
            text = self._rendered(marking.marked(said), rendering)
        except RecursionError as error:
            raise ValueError("what is said is nested too deeply for the chat template") from error
        pieces = list(marking.pieces(text))
        if most is not None and self._is_longer("".join(piece for piece, _ in pieces), most):
            raise PromptTooLong(f"the chat has more than {most} tokens")
        ids = [token for piece, plain in pieces for token in self._split(piece, plain=plain)]
        if most is not None and len(ids) > most:
            raise PromptTooLong(f"the chat has more than {most} tokens: {len(ids)}")
        return ids

    def encode_text(self, text: str, most: int | None = None, *, special: bool = True) -> list[int]:
        """See `ChatModel.encode_text`."""
        if most is not None and self._is_longer(text, most):
            raise PromptTooLong(f"the text has more than {most} tokens")
        ids = self._split(text, marks=special)
        if not ids:
            raise ValueError("a prompt needs at least one token")
        if most is not None and len(ids) > most:
            raise PromptTooLong(f"the text has more than {most} tokens: {len(ids)}")
        return ids

    def split(self, text: str) -> list[int]:
        """Ids of a text, without marks of begin and end."""
        return self._split(text)

    def token_names(self, ids: Sequence[int]) -> list[str]:
        """Names that the tokenizer's file has for tokens; the empty one for an id that it doesn't have."""
        with self._lock:
            return [name or "" for name in self._tokenizer.convert_ids_to_tokens(list(ids))]

    @cached_property
    def facts(self) -> ChatTemplate:
        """See `ChatModel.template`."""
        return ChatTemplate(self._variables, thinking_template(self.template, self._variables, self._opening))

    def _opening(self, variables: Mapping[str, object]) -> str:
        """A chat with the opening of the assistant's turn; the empty text where the template refuses it."""
        try:
            return self._rendered([list(_PROBE), (), dict(variables)], Rendering())
        except ValueError:
            return ""

    def _split(self, text: str, *, plain: bool = False, marks: bool = False) -> list[int]:
        """Ids of a text. `plain`: special tokens in it are text. `marks`: with those that the tokenizer puts around."""
        with self._lock:
            ids = self._tokenizer.encode(text, add_special_tokens=marks, split_special_tokens=plain)
        return [int(token) for token in ids]

    def _is_longer(self, text: str, most: int) -> bool:
        return self._bound is not None and len(text) > BOUND_BYTES and self._bound.more_than(text, most)

    def _check(self, rendering: Rendering) -> None:
        for name, value in rendering.variables.items():
            if value is not False and name not in self._variables:
                raise UnknownVariable(name)

    def _in_the_templates_words(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, object]]
    ) -> list[plain_turns.Turn]:
        turns = [dict(message) for message in messages]
        if any(turn["role"] == "tool" or "tool_calls" in turn for turn in turns):
            turns = self._calls_in_words(turns)
        if tools and not self._shows_tools:
            turns = plain_turns.with_tools(turns, tools)
        if any("name" in turn for turn in turns) and not self._shows_names:
            turns = plain_turns.without_names(turns)
        return turns

    def _calls_in_words(self, turns: list[plain_turns.Turn]) -> list[plain_turns.Turn]:
        if not self._shows_calls and not self._shows_written_calls:
            return plain_turns.without_tools(turns)
        if not self._shows_calls:
            turns = plain_turns.with_written_arguments(turns)
        return plain_turns.with_short_ids(turns) if _SHORT_IDS.search(self.template) else turns

    @cached_property
    def template(self) -> str:
        """Source of the chat template; of all where there are several."""
        templates = self._tokenizer.chat_template
        return "".join(templates.values()) if isinstance(templates, dict) else templates or ""

    @cached_property
    def _variables(self) -> frozenset[str]:
        """Names of the variables that the template reads."""
        environment = Environment(extensions=["jinja2.ext.loopcontrols"])
        return frozenset(find_undeclared_variables(environment.parse(_GENERATION.sub("", self.template))))

    @cached_property
    def _shows_tools(self) -> bool:
        turns = plain_turns.PROBE_TOOLS[:1]
        return self._shows(turns, plain_turns.PROBED_TOOLS[:1], (plain_turns.PROBED_TOOL,))

    @cached_property
    def _shows_calls(self) -> bool:
        return self._shows(plain_turns.PROBE_TOOLS, plain_turns.PROBED_TOOLS)

    @cached_property
    def _shows_written_calls(self) -> bool:
        return self._shows(plain_turns.with_written_arguments(plain_turns.PROBE_TOOLS), plain_turns.PROBED_TOOLS)

    @cached_property
    def _shows_names(self) -> bool:
        return self._shows(plain_turns.PROBE_NAMES, plain_turns.PROBED_NAMES)

    def _shows(
        self, turns: Iterable[Mapping[str, Any]], words: Iterable[str], tools: Sequence[Mapping[str, Any]] = ()
    ) -> bool:
        try:
            shown = self._rendered([list(turns), tools, {}], Rendering())
        except ValueError:
            return False
        return all(word in shown for word in words)

    def _rendered(self, said: Any, rendering: Rendering) -> str:
        turns, tools, variables = said
        try:
            with self._lock:
                return str(
                    self._tokenizer.apply_chat_template(
                        turns,
                        tools=list(tools) or None,
                        add_generation_prompt=rendering.generation_prompt,
                        continue_final_message=rendering.continue_final,
                        tokenize=False,
                        **variables,
                    )
                )
        except (TemplateError, TypeError) as error:
            # TypeError: the template computes with a field that is missing or of another type.
            raise ValueError(f"the chat template refuses these messages: {error}") from error
