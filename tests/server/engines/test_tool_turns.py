"""Tools, calls and results in the words of chat templates, whatever these want of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from server.backends.vllm.frontend.model import VllmModel
from server.engines.chat import ChatEncoder
from server.engines.contract import Rendering
from server.engines.hugging_face.engine import TransformersEngine
from tests.cached import tokenizer_folder

pytestmark = pytest.mark.filterwarnings("ignore")  # of transformers, about files of tokenizers

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
CALLED: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call_0123456789", "type": "function", "function": {"name": "add", "arguments": {"a": "é"}}},
            {"id": "ninechars", "type": "function", "function": {"name": "add", "arguments": {}}},
        ],
    },
    {"role": "tool", "content": "1", "name": "add", "tool_call_id": "call_0123456789"},
    {"role": "tool", "content": "2", "name": "add", "tool_call_id": "ninechars"},
]
WRITTEN = (
    "{% for m in messages %}{{ m.role }}:{{ m.content }}"
    "{% for c in m.tool_calls or [] %}[{{ c.function.name + c.function.arguments }}]{% endfor %};{% endfor %}"
)
SHORT = (
    "{% for m in messages %}{{ m.role }}:{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{% if c.id|length != 9 %}"
    "{{ raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}{% endif %}"
    "[{{ c.id }} {{ c.function|tojson }}]{% endfor %}"
    "{% if m.role == 'tool' %}{{ m.tool_call_id }}{% endif %};{% endfor %}"
)


@pytest.fixture
def shown(tiny_folder: Callable[[str], Path], tmp_path: Path) -> Callable[..., str]:
    """Text that a chat becomes by a template."""

    def made(template: str, chat: list[dict[str, Any]], *tools: dict[str, Any]) -> str:
        folder = tmp_path / "model"
        shutil.copytree(tiny_folder("llama"), folder)
        (folder / "chat_template.jinja").write_text(template)
        ids = ChatEncoder(folder).encode(chat, None, Rendering(tools=tools, generation_prompt=False))
        found: str = Tokenizer.from_file(str(folder / "tokenizer.json")).decode(ids, skip_special_tokens=False)
        return found

    return made


def test_arguments_as_texts(shown: Callable[..., str]) -> None:
    """A template that joins arguments to text gets their JSON."""
    assert shown(WRITTEN, CALLED) == 'user:go;assistant:[add{"a": "é"}][add{}];tool:1;tool:2;'


def test_short_ids(shown: Callable[..., str]) -> None:
    """Mistral's templates want ids of nine characters: others are shortened, calls and results alike."""
    found = shown(SHORT, CALLED)
    first, second = (part.split(" ", 1)[0] for part in found.split("[")[1:])
    assert (len(first), second) == (9, "ninechars")
    assert found.endswith(f"tool:1{first};tool:2{second};")


def test_tools_of_a_template_without_words_for_them(tiny_folder: Callable[[str], Path]) -> None:
    """Tools stand in the system's turn, before what it says itself, with the form of calls."""
    folder = tiny_folder("llama")
    encoder, tokenizer = ChatEncoder(folder), Tokenizer.from_file(str(folder / "tokenizer.json"))
    for said in ([], [{"role": "system", "content": "Be brief."}]):
        ids = encoder.encode([*said, {"role": "user", "content": "go"}], None, Rendering(tools=(TOOL,)))
        text = tokenizer.decode(ids, skip_special_tokens=False)
        assert text.startswith("<|im_start|>system\n")
        assert text.count("<|im_start|>system") == 1
        assert f"<tools>\n{json.dumps(TOOL)}\n</tools>" in text
        assert '<tool_call>\n{"name": <name>, "arguments": <arguments>}\n</tool_call>' in text
        assert ("Be brief.<|im_end|>" in text) is bool(said)


def test_tools_of_a_template_with_words_for_them() -> None:
    """Tools are shown once, in the template's own words."""
    folder = tokenizer_folder("qwen3")
    ids = ChatEncoder(folder).encode([{"role": "user", "content": "go"}], None, Rendering(tools=(TOOL,)))
    text = Tokenizer.from_file(str(folder / "tokenizer.json")).decode(ids, skip_special_tokens=False)
    assert text.count("<tools>\n{") == 1
    assert "You may call one or more functions" in text


def test_models_tell_their_template(tiny_folder: Callable[[str], Path]) -> None:
    """Models of either engine have the template's source, which says in which form calls are written."""
    folder = tiny_folder("llama")
    source = (folder / "chat_template.jinja").read_text()
    engine = TransformersEngine(folder, threads=1)
    assert engine.chat_template == VllmModel(folder, None, None, 10).chat_template == source
    engine.shutdown()
