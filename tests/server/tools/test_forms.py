"""Forms of calls are found from the source of chat templates."""

from __future__ import annotations

import json

import pytest

from server.tools.forms import FORMS, NEUTRAL, form_of
from tests.cached import tokenizer_folder

TEMPLATES = {
    "hermes": r"""{{- '<tool_call>\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}""",
    "llama": """{{- '{"name": "' + tool_call.name + '", ' }}{{- '"parameters": ' }}{{- arguments | tojson }}""",
    "mistral": """{{- "[TOOL_CALLS][" }}{%- set out = tool_call.function|tojson %}{{- out[:-1] }}""",
    "mistral_spaced": """{{- "[TOOL_CALLS] [" }}{%- set out = tool_call.function|tojson %}{{- out[:-1] }}""",
    "mistral_args": """{{- '[TOOL_CALLS]' + tool_call.function.name + '[ARGS]' + arguments }}""",
    "qwen_coder": r"""{{- '<tool_call>\n<function=' + tool_call.name }}{{- '<parameter=' + args_name + '>\n' }}""",
    "glm": "{{ '<tool_call>' + tc.name }}\n<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>",
    "glm_4_7": "{{- '<tool_call>' + tc.name -}}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value>",
    "harmony": """{{- "<|start|>assistant to=functions." + name + "<|channel|>commentary json<|message|>" }}""",
    "deepseek": r"""{{'<｜tool▁calls▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + '```json' + '\n'}}""",
    "deepseek_3_1": """{{'<｜tool▁calls▁begin｜>' + tool['function']['name'] + '<｜tool▁sep｜>'}}""",
}
"""Words for calls, as the templates of each family have them."""


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_form_of_a_template(name: str) -> None:
    """Each family's template tells its form, and no other one's."""
    assert form_of(TEMPLATES[name]) == FORMS[name]


@pytest.mark.parametrize(
    "template",
    [
        "",
        "{{ message.content }}",
        "<tool_call>{{ name }}\n<arg_key>{{ arguments }}",
    ],
)
def test_other_templates_get_the_neutral_form(template: str) -> None:
    """Templates without words for calls, or with words that no form has, get the neutral one."""
    assert form_of(template) == FORMS[NEUTRAL]


def test_a_real_template() -> None:
    """Qwen3's own template."""
    configuration = json.loads((tokenizer_folder("qwen3") / "tokenizer_config.json").read_text())
    assert form_of(configuration["chat_template"]) == FORMS["hermes"]


@pytest.mark.parametrize("name", FORMS)
def test_forms_can_be_read(name: str) -> None:
    """A trigger begins all calls, and no call's name runs into what stands behind it."""
    form = FORMS[name]
    assert form.lead.startswith(form.trigger)
    ways = [form.text_middle, form.middle or form.close]
    if form.parameters is not None and not form.middle:
        ways.append(form.parameters.before)
    assert all(way[0] not in "_.:/-" and not way[0].isalnum() for way in ways)
