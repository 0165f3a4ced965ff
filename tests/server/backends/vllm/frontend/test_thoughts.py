"""`--reasoning-parser` names the marks of thoughts, and vLLM's engine hears nothing of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from server.engines.contract import PLAIN_TEMPLATE, ChatTemplate
from server.engines.thought_marks import USUAL, ThinkingTemplate, ThoughtMarks
from server.prompts import prompt_of
from server.protocol.chat import ChatRequest
from tests.cached import cache_folder, model_folder
from tests.server.backends.vllm.conftest import MakeEngine


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model's folder, whose tokenizer has thoughts' marks as tokens."""
    folder = tmp_path_factory.mktemp("thinker")
    for path in model_folder().iterdir():
        shutil.copy(path, folder) if path.stat().st_size < 50 << 20 else (folder / path.name).symlink_to(path)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["<think>", "</think>"])
    tokenizer.save_pretrained(folder)
    return folder


def test_marks_of_a_parser(make_engine: MakeEngine, thinker: Path) -> None:
    """A parser's marks are those that it looks for, and a request's answer comes behind a thought."""
    from server.backends.vllm.frontend.model import VllmModel
    from server.backends.vllm.frontend.options import engine_args, thought_marks

    options = ("--reasoning-parser", "deepseek_r1")
    marks = thought_marks(thinker, options)
    assert marks == USUAL and thought_marks(thinker, ()) is None
    assert thought_marks(thinker, ("--reasoning-parser", "seed_oss")) is not None
    assert not engine_args(thinker, options).reasoning_parser

    request = ChatRequest.model_validate({"messages": [{"role": "user", "content": "Hello"}]})
    plain = prompt_of(request, VllmModel(thinker, None, cache_folder(), 100))
    behind = prompt_of(request, VllmModel(thinker, None, cache_folder(), 100, marks))
    assert plain.closer is None and behind.closer is not None
    assert behind.closer.text == b"</think>" and behind.tokens[: len(plain.tokens)] == plain.tokens


@pytest.mark.parametrize(
    ("name", "part"),
    [("no_such", "no_such"), ("deepseek_r1", "doesn't fit the model"), ("openai_gptoss", "tells no marks")],
)
def test_parsers_that_tell_no_marks_are_refused(make_engine: MakeEngine, name: str, part: str) -> None:
    """An unknown parser, one whose marks are no tokens, and one that has none are errors at the start."""
    from server.backends.vllm.frontend.options import thought_marks

    with pytest.raises(ValueError, match=f"^--reasoning-parser {name}.*{part}"):
        thought_marks(model_folder(), ("--reasoning-parser", name))


def test_a_template_knows_more_than_the_parser(make_engine: MakeEngine) -> None:
    """Marks of a template whose model thinks stay; one that only has them is taken as one that thinks."""
    from server.backends.vllm.frontend.model import with_marks

    thinking = ThinkingTemplate(ThoughtMarks("<think>", "</think>", "\n"), by_default=True)
    told = ChatTemplate(frozenset({"x"}), thinking)
    assert with_marks(told, None) is told and with_marks(told, USUAL) is told
    quiet = ChatTemplate(frozenset({"x"}), ThinkingTemplate(thinking.marks, by_default=False))
    assert with_marks(quiet, USUAL).thinking == ThinkingTemplate(ThoughtMarks(USUAL.begin, USUAL.end, "\n"), True)
    assert with_marks(PLAIN_TEMPLATE, USUAL).thinking == ThinkingTemplate(USUAL, by_default=True)
