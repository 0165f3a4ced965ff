"""Grammars from the tests of llama.cpp, xgrammar and llguidance, with the answers that released engines gave."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from grammar_cache.compile import parse
from grammar_cache.constraint import Constraint, Kind
from grammar_cache.dialects.gbnf.compiler import parse as parse_gbnf
from grammar_cache.errors import EmptyLanguage
from server.checking.membership import Recogniser
from tests.grammar_cache.dialects.corpus import cases, files, needs_corpus

KINDS: MappingProxyType[str, Kind] = MappingProxyType(
    {"gbnf": "gbnf", "ebnf(xgrammar)": "gbnf", "ebnf(xgrammar)+macros": "gbnf", "regex": "regex"}
)

EXPLAINED = MappingProxyType(
    {
        "xgrammar-093": (EmptyLanguage, "its lookahead contradicts what follows; xgrammar passes over lookaheads"),
    }
)
"""Cases where the engine's answer is its own: what happens here, and why."""

SAMPLES = MappingProxyType(
    {
        "arithmetic.gbnf": (["1+2=3\n", "y*(3-z)=x\nab=1\n"], ["1+=3\n", "1+2\n", ""]),
        "c.gbnf": (["int f(int x){return x+1;}", "int main(){int x = 2;while(x<10){x = x+1;}}"], ["int f("]),
        "chess.gbnf": (["1. e4 e5\n2. Nf3 Nc6\n", "1. d4 d5\n2. O-O O-O-O+\n"], ["1. e4\n", "1. i9 e5\n"]),
        "english.gbnf": (["A simple sentence.", "Hello, (dear) friends!"], ["naïve"]),
        "japanese.gbnf": (["こんにちは。", "日本 カタカナ"], ["hello"]),
        "json.gbnf": (['{"a": [1, -2.5e3, "\\u00e9"], "b": null}', "{}"], ["[1]", '{"a"}', "{'a': 1}"]),
        "json_arr.gbnf": (['[\n{"a": 1},\ntrue]', "[\n]"], ["{}", "[1"]),
        "list.gbnf": (["- one\n", "- one\n- two, three\n"], ["one\n", "- one"]),
        "vllm-sql.gbnf": ([], ["SELECT", "drop table x"]),
    }
)


@needs_corpus
@pytest.mark.parametrize("case", cases(*KINDS))
def test_cases_give_the_known_answers(case: dict[str, Any]) -> None:
    """Every text of a case is accepted or rejected as released engines do, but for explained exceptions."""
    constraint = Constraint(KINDS[case["format"]], case["grammar"], start=case.get("options", {}).get("root_rule_name"))
    if case["id"] in EXPLAINED:
        with pytest.raises(EXPLAINED[case["id"]][0]):
            Recogniser(parse(constraint))
        return
    recogniser = Recogniser(parse(constraint))
    assert [text for text in case["accepted"] if not recogniser.judge(text.encode()).accepted] == []
    assert [text for text in case["rejected"] if recogniser.judge(text.encode()).accepted] == []


@needs_corpus
@pytest.mark.parametrize("path", [*files("llama.cpp", "*.gbnf"), *files("llguidance", "*.gbnf")])
def test_whole_files_are_read(path: Path) -> None:
    """Grammars that llama.cpp ships have a rule for each definition, and accept and reject samples."""
    text = path.read_text(encoding="utf-8")
    assert len(parse_gbnf(text).rules) == sum(1 for line in text.splitlines() if "::=" in line)
    accepted, rejected = SAMPLES[path.name]
    recogniser = Recogniser(parse(Constraint("gbnf", text)))
    assert [sample for sample in accepted if not recogniser.judge(sample.encode()).accepted] == []
    assert [sample for sample in rejected if recogniser.judge(sample.encode()).accepted] == []
