"""Marks of a model's thoughts by `--reasoning-parser`: those that vLLM's parser of that name looks for."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer
from vllm.reasoning import ReasoningParserManager

from server.engines.thought_marks import KNOWN, ThoughtMarks


def parser_marks(folder: Path, name: str, plugin: str | None) -> ThoughtMarks:
    """Marks of the parser for the tokenizer in a model's folder; `plugin`: a file that registers it.

    Raises ValueError for a parser that there isn't, that doesn't fit the tokenizer, or that tells no marks.
    """
    if plugin:
        ReasoningParserManager.import_reasoning_parser(plugin)
    try:
        kind = ReasoningParserManager.get_reasoning_parser(name)
    except (KeyError, ImportError) as error:
        raise ValueError(f"--reasoning-parser {name}: {error.args[0]}") from error
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    try:
        parser = kind(tokenizer)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"--reasoning-parser {name} doesn't fit the model: {error}") from error
    begin, end = parser.reasoning_start_str, parser.reasoning_end_str
    if not begin or not end:
        message = "vLLM's parser tells no marks: leave it out, chat templates and swyb.thinking tell them"
        raise ValueError(f"--reasoning-parser {name} is refused: {message}")
    known = (marks for marks in KNOWN if (marks.begin.strip(), marks.end) == (begin.strip(), end.strip()))
    return next(known, ThoughtMarks(begin, end))
