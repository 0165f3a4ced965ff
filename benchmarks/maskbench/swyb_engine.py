"""SWYB as an engine of MaskBench's own runner: `SwybEngine` has the face of its class `Engine`.

To run theirs: `from benchmarks.maskbench.swyb_engine import SwybEngine` in `get_engine` of `maskbench/runner.py`.
Nothing of their code is needed here, so that a test can drive this class alone.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar


class SwybEngine:
    """Engine that compiles a schema, and then gives a mask and takes a token by turns.

    The runner sets `tokenizer_model_id`, here the folder of a tokenizer, and `multi`, then calls `init`.
    """

    tokenizer: Any
    tokenizer_model_id: str

    def __init__(self) -> None:
        self.multi = False
        self.debug = False

    def get_id(self) -> str:
        """Name of the folder of results."""
        return "swyb"

    def get_name(self) -> str:
        """Name in tables."""
        return "SWYB"

    def get_module(self) -> str:
        """Name of the package."""
        return "swyb"

    def get_version(self) -> str:
        """Version of the package."""
        return version(self.get_module())

    def init(self) -> None:
        """Reads the vocabulary."""
        self._vocabulary = Vocabulary.from_pretrained(self.tokenizer_model_id)

    def compile_grammar(self, schema: dict[str, Any]) -> None:
        """Compiles a schema. Raises GrammarError, which the runner notes as a refusal."""
        text = json.dumps(schema, ensure_ascii=False)
        self._grammar: CompiledGrammar = compile_grammar(Constraint("json_schema", text), self._vocabulary)

    def reset(self) -> None:
        """Starts a text."""
        self._configuration = self._grammar.start

    def compute_mask(self) -> None:
        """Computes the mask of the tokens that may come next."""
        self._mask: NDArray[np.int32] = self._grammar.bitmask(self._configuration).view(np.int32)

    def commit_token(self, token: int) -> bool:
        """Takes a token; False where the mask lacks it."""
        after = None
        if (int(self._mask[token >> 5]) >> (token & 31)) & 1:
            after = self._grammar.consume(self._configuration, token)
        if after is not None:
            self._configuration = after
        return after is not None

    def log_single(self, text: str) -> None:
        """Prints for a person who runs one file."""
        if not self.multi:
            print(text, file=sys.stderr)
