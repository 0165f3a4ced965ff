"""Marks of thoughts in chat templates, as published models have them (cut to what is about thoughts)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from jinja2 import Environment
from jinja2.meta import find_undeclared_variables

from server.engines.thought_marks import HARMONY, KNOWN, USUAL, ThinkingTemplate, thinking_template

_TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content.split('</think>')[-1] }}<|im_end|>\n{% endfor %}"
)
_OPENING = "{% if add_generation_prompt %}<|im_start|>assistant\n"
TEMPLATES = {
    "Qwen3": _TURNS
    + _OPENING
    + "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}",
    "Qwen3-Instruct-2507": _TURNS + _OPENING + "{% endif %}",
    "QwQ": _TURNS + _OPENING + "<think>\n{% endif %}",
    "DeepSeek-V3.1": "{% for m in messages %}<|User|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|Assistant|>"
    "{% if thinking is defined and thinking %}<think>{% else %}</think>{% endif %}{% endif %}",
    "GLM-4.5": "{% for m in messages %}<|user|>\n{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>"
    "{{ '\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' }}{% endif %}",
    "gpt-oss": "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}"
    "{# <|channel|>analysis<|message|> #}{% if add_generation_prompt %}<|start|>assistant{% endif %}",
    "Seed-OSS": "{% for m in messages %}{{ m.content }}{% endfor %}{# <seed:think> </seed:think> #}{{ 'a:' }}",
    "SmolLM2": "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n",
}


def opening(template: str, variables: Mapping[str, object]) -> str:
    messages = [{"role": "user", "content": "probe"}]
    return Environment().from_string(template).render(messages=messages, add_generation_prompt=True, **variables)


def found(name: str) -> ThinkingTemplate | None:
    template = TEMPLATES[name]
    variables = find_undeclared_variables(Environment().parse(template))
    return thinking_template(template, variables, lambda values: opening(template, values))


@pytest.mark.parametrize(
    ("name", "by_default", "closer"),
    [
        ("Qwen3", True, "</think>\n\n"),
        ("Qwen3-Instruct-2507", False, "</think>\n\n"),
        ("QwQ", False, "</think>\n\n"),
        ("DeepSeek-V3.1", True, "</think>"),
        ("GLM-4.5", True, "</think>"),
        ("gpt-oss", True, "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("Seed-OSS", False, "</seed:think>\n"),
    ],
)
def test_templates_tell_their_marks(name: str, by_default: bool, closer: str) -> None:
    """Marks are those in the template; a model thinks by itself if there is a switch to keep it from that."""
    thinking = found(name)
    assert thinking is not None
    assert (thinking.by_default, thinking.marks.closer) == (by_default, closer)


def test_a_template_without_marks_knows_no_thoughts() -> None:
    assert found("SmolLM2") is None


@pytest.mark.parametrize(
    ("name", "variables", "opened"),
    [
        ("Qwen3", {}, None),
        ("Qwen3", {"enable_thinking": False}, False),
        ("QwQ", {}, True),
        ("DeepSeek-V3.1", {}, False),
        ("DeepSeek-V3.1", {"thinking": True}, True),
        ("GLM-4.5", {"enable_thinking": False}, False),
        ("gpt-oss", {}, None),
    ],
)
def test_the_end_of_a_prompt_says_whether_a_thought_is_open(
    name: str, variables: Mapping[str, object], opened: bool | None
) -> None:
    """Prompts end behind the mark that opens a thought, behind the one that closes it, or behind none."""
    thinking = found(name)
    assert thinking is not None
    assert thinking.marks.opened_in(opening(TEMPLATES[name], variables)) is opened


def test_marks_are_different() -> None:
    """No mark is taken for another one's; the usual ones are there."""
    assert len({marks.begin for marks in KNOWN}) == len({marks.end for marks in KNOWN}) == len(KNOWN)
    assert {HARMONY, USUAL} <= set(KNOWN)
