"""The plug-in where nobody named it, its settings, and constraints in vLLM's shape."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from types import SimpleNamespace
from typing import Any

import pytest

from grammar_cache import Constraint, UnsupportedFeature, Vocabulary
from grammar_cache.hosts.conformance.cases import small_vocabulary
from grammar_cache.hosts.vllm.constraints import constraint_of, cutting
from grammar_cache.hosts.vllm.settings import PluginSettings
from tests.documents import ROOT

REGISTERED = """
import sys
from grammar_cache.hosts.vllm.plugin import register
register()
print(sorted({name.partition(".")[0] for name in sys.modules} & {"vllm", "torch", "numba", "numpy", "transformers"}))
"""


@pytest.mark.parametrize("named", [None, "", "another,swyb", "swyb_budget_else"])
def test_it_is_inert_unless_it_is_named(named: str | None) -> None:
    """The entry imports nothing where VLLM_PLUGINS lacks its name, and so changes nobody's vLLM."""
    environment = {"PYTHONPATH": str(ROOT)} | ({} if named is None else {"VLLM_PLUGINS": named})
    done = subprocess.run(
        [sys.executable, "-c", REGISTERED], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_entry_points_name_what_is_there() -> None:
    """The package's entry points are the plug-in's functions."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    general, routes = points["vllm.general_plugins"]["swyb_budget"], points["vllm.endpoint_plugins"]["swyb_budget"]
    assert general == "grammar_cache.hosts.vllm.plugin:register"
    assert routes == "grammar_cache.hosts.vllm.routes:CertifyRoute"
    assert all(
        (ROOT / point.partition(":")[0].replace(".", "/")).with_suffix(".py").is_file() for point in (general, routes)
    )


def test_settings() -> None:
    """Settings are read where the plug-in is named; other values are errors at the start."""
    assert PluginSettings.of({}) is None
    assert PluginSettings.of({"VLLM_PLUGINS": "a,swyb_budget"}) == PluginSettings(False, 0.25)
    named = {"VLLM_PLUGINS": "swyb_budget"}
    assert PluginSettings.of(named | {"SWYB_BUDGET_UNSUPPORTED": "fallback", "SWYB_BUDGET_ANSWER_SHARE": "0"}) == (
        PluginSettings(True, 0.0)
    )
    store = {"SWYB_BUDGET_STORE": "sqlite:///x/y", "SWYB_BUDGET_STORE_SECRET": "s"}
    assert PluginSettings.of(named | store) == PluginSettings(False, 0.25, "sqlite:///x/y", "s")
    assert "x/y" not in repr(PluginSettings.of(named | store))
    for wrong in (
        {"SWYB_BUDGET_UNSUPPORTED": "no"},
        {"SWYB_BUDGET_ANSWER_SHARE": "2"},
        {"SWYB_BUDGET_ANSWER_SHARE": "a"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            PluginSettings.of(named | wrong)


def outputs(**given: Any) -> Any:
    fields = ("json", "json_object", "regex", "choice", "grammar", "structural_tag", "whitespace_pattern")
    flags = ("disable_any_whitespace", "disable_additional_properties")
    return SimpleNamespace(**(dict.fromkeys(fields) | dict.fromkeys(flags, False) | given))


def test_constraints_of_vllm() -> None:
    """Each kind of vLLM's structured outputs is a constraint of ours; what can't be said is refused by name."""
    assert constraint_of(outputs(json={"b": 1, "a": 2})).text == '{"b": 1, "a": 2}'
    assert constraint_of(outputs(json='{"type": "null"}', disable_any_whitespace=True)).whitespace == "compact"
    assert json.loads(constraint_of(outputs(json_object=True)).text) == {"type": "object"}
    assert constraint_of(outputs(regex="a+")) == Constraint("regex", "a+")
    assert constraint_of(outputs(choice=["a", "ü"])) == Constraint("choice", '["a", "ü"]')
    assert constraint_of(outputs(grammar='root ::= "a"')).kind == "gbnf"
    assert constraint_of(outputs(grammar='start: "a"')).kind == "lark"
    assert constraint_of(outputs(structural_tag="{}")).kind == "structural_tag"
    with pytest.raises(UnsupportedFeature, match="whitespace_pattern"):
        constraint_of(outputs(json="{}", whitespace_pattern=r"\s"))
    with pytest.raises(UnsupportedFeature, match="json_object"):
        constraint_of(outputs(json_object=False))
    with pytest.raises(UnsupportedFeature, match="additional"):
        constraint_of(outputs(json="{}", disable_additional_properties=True))


def test_what_cuts_an_answer_is_found() -> None:
    """Fields that end answers by themselves are named; stop tokens are refused only if they may come."""
    idle = {"ignore_eos": False, "min_tokens": 0, "stop": [], "bad_words": [], "allowed_token_ids": None}
    idle |= {"stop_token_ids": [0, 262, 999], "repetition_detection": None}
    assert list(cutting(SimpleNamespace(**idle), small_vocabulary(), silent=False)) == []
    for name, value in (("stop", ["x"]), ("min_tokens", 3), ("ignore_eos", True), ("stop_token_ids", [0, 66])):
        params = SimpleNamespace(**(idle | {name: value}))
        assert [found for found, _ in cutting(params, small_vocabulary(), silent=False)] == [name]


def test_what_cuts_a_thought_or_a_special_token_is_found() -> None:
    """Stop tokens that are no text are refused where such tokens may come; ends of answers, and ids beyond all tokens,
    are not.
    """
    vocabulary = Vocabulary([b"a", None, None, None], [2], {1: "<tool_call>"})
    idle = dict.fromkeys(("ignore_eos", "min_tokens", "stop", "bad_words", "allowed_token_ids", "repetition_detection"))
    params = SimpleNamespace(**idle, stop_token_ids=[1, 2, 3, 9])
    assert list(cutting(params, vocabulary, silent=False)) == []
    assert list(cutting(params, vocabulary, silent=True)) == [("stop_token_ids", [1, 3])]
