"""The warm-up goes through all loops: what comes after it waits for no compiler."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from grammar_cache import Constraint, Vocabulary, compile_grammar
from grammar_cache.warm_up import GRAMMARS, SCHEMAS, warm_up_beside

COUNTING = """
import importlib, json, pkgutil
from numba.core.dispatcher import Dispatcher
import grammar_cache
from grammar_cache import Constraint, Vocabulary, compile_grammar, warm_up
from grammar_cache.grammars.shipped import names, samples, shipped

def compiled():
    found = {}
    for module in pkgutil.walk_packages(grammar_cache.__path__, "grammar_cache."):
        if module.name.startswith("grammar_cache.hosts"):
            continue  # has no loops, and asks for libraries of others
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher):
                found[f"{value.py_func.__module__}.{name}"] = sorted(map(str, value.signatures))
    return found

warm_up.main()
before = compiled()
vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [b"SEL", b"ECT "], [300])
for name in names():
    grammar = compile_grammar(shipped(name), vocabulary)
    warm_up._use(grammar, samples(name).accepted[0].encode()[:4])
schema = {"anyOf": [{"contains": {"const": 1}, "maxItems": 3}, {"minProperties": 2, "maxProperties": 3}]}
warm_up._use(compile_grammar(Constraint("json_schema", json.dumps(schema)), vocabulary), b"[")
after = compiled()
assert before == after, {name: kinds for name, kinds in after.items() if kinds != before[name]}
assert sum(map(len, after.values())) > 10
"""


def test_nothing_is_compiled_after_the_warm_up() -> None:
    """Every loop is there for further grammars in a new process, for the types they call it with; progress is told."""
    done = subprocess.run([sys.executable, "-c", COUNTING], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "compiling the loops" in lines[0]
    assert [re.sub(r": [\d.]+ s$", "", line).strip() for line in lines[1:-1]] == [*GRAMMARS, SCHEMAS]
    assert "compiled after" in lines[-1]


def test_a_first_call_of_a_tool_finds_its_vocabulary_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the warm-up special tokens are spelled, and that isn't done again; without any there is nothing to do."""
    texts = [bytes([byte]) for byte in range(256)]
    plain = Vocabulary(texts, [255])
    vocabulary = Vocabulary([*texts, None, None, None], [258], special={256: "<call>", 257: "<end>", 258: "<eos>"})
    warm_up_beside(vocabulary).join(100)
    monkeypatch.setattr(Vocabulary, "_spell", None)
    call = {"type": "json_schema", "json_schema": {"properties": {"a": {"type": "string"}}}}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<call>", "content": call, "end": "<end>"}}
    grammar = compile_grammar(Constraint("structural_tag", json.dumps(tag)), vocabulary)
    assert grammar.mask(grammar.start)[256]
    warm_up_beside(plain).join(100)
    assert plain.with_special_tokens is plain
