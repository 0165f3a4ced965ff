"""Structural tags, against a matcher that searches texts."""

from __future__ import annotations

import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import CompiledGrammar, UnsupportedFeature
from tests.grammar_cache.dialects.structural_tags.formats import PIECES, SCHEMA, compiled, judged
from tests.grammar_cache.dialects.structural_tags.matcher import Format, accepts
from tests.strategies import examples

COUNTS = ["optional", "star", "plus"]
SEPARATED = {"type": "tags_with_separator", "separator": ","}
TWELVE = {"type": "const_string", "value": "12"}


def contents() -> st.SearchStrategy[Format]:
    return st.sampled_from(
        [
            {"type": "json_schema", "json_schema": SCHEMA},
            {"type": "regex", "pattern": "[a-f]*12"},
            {"type": "const_string", "value": "a"},
            {"type": "any_text"},
            {"type": "any_text", "excludes": ["12", "a,"]},
            {"type": "any_text", "max_chars": 3},
        ]
    )


def tags(content: st.SearchStrategy[Format]) -> st.SearchStrategy[list[Format]]:
    one = st.builds(
        lambda begin, inner, end: {"type": "tag", "begin": begin, "content": inner, "end": end},
        st.sampled_from(["<f=a>", "<f=b>", "<g>"]),
        content,
        st.sampled_from(["</f>", ["</g>", "</f>"], "</g>"]),
    )
    return st.lists(one, min_size=1, max_size=2)


def formats() -> st.SearchStrategy[Format]:
    """Random formats of every kind that needs no tokens."""
    return st.recursive(contents(), _wider, max_leaves=4)


def _wider(inner: st.SearchStrategy[Format]) -> st.SearchStrategy[Format]:
    flags = st.fixed_dictionaries({"at_least_one": st.booleans(), "stop_after_first": st.booleans()})
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda elements: {"type": "sequence", "elements": elements}, several),
        st.builds(lambda elements: {"type": "or", "elements": elements}, several),
        st.builds(lambda kind, item: {"type": kind, "content": item}, st.sampled_from(COUNTS), inner),
        st.builds(lambda n, item: {"type": "repeat", "min": 1, "max": n, "content": item}, st.integers(1, 3), inner),
        tags(inner).map(lambda found: found[0]),
        st.builds(lambda own, how: {**SEPARATED, "tags": own, **how}, tags(inner), flags),
        st.builds(
            lambda own, how, excludes: {
                "type": "triggered_tags", "triggers": ["<f=", "<g"], "tags": own, "excludes": excludes, **how
            },
            tags(inner),
            flags,
            st.sampled_from([[], ["12"], [">,", "é"]]),
        ),
        st.builds(
            lambda item, loop: {"type": "dispatch", "rules": [["<f=", item], ["a>", TWELVE]], "loop": loop},
            inner,
            st.booleans(),
        ),
    )  # fmt: skip


def written(format: Format, random: Random) -> str:
    """A text of a format, mostly: free text may happen to hold what it may not."""
    loose = "".join(random.choices(PIECES, k=random.randrange(3)))
    match format["type"]:
        case "json_schema":
            return json.dumps({"n": random.randrange(30)}, separators=(",", ":"))
        case "regex":
            return random.choice(["12", "abc12", "f12"])
        case "const_string":
            return str(format["value"])
        case "any_text":
            return loose
        case "sequence":
            return "".join(written(element, random) for element in format["elements"])
        case "or":
            return written(random.choice(format["elements"]), random)
        case "optional" | "star" | "plus" | "repeat":
            return "".join(written(format["content"], random) for _ in range(random.randrange(3)))
        case "tag":
            end = format["end"] if isinstance(format["end"], str) else random.choice(format["end"])
            return str(format["begin"]) + written(format["content"], random) + end
        case "tags_with_separator":
            return ",".join(written(random.choice(format["tags"]), random) for _ in range(random.randrange(3)))
        case "triggered_tags":
            return loose + "".join(
                written(random.choice(format["tags"]), random) + loose for _ in range(random.randrange(3))
            )
        case _:
            pattern, content = random.choice(format["rules"])
            return loose + str(pattern) + written(content, random)


@given(formats(), st.randoms(use_true_random=False))
@examples(60)
def test_texts_are_those_of_the_matcher(format: Format, random: Random) -> None:
    """Random texts, and texts that are made to fit, belong to the grammar exactly if the matcher finds so."""
    grammar = _or_none(format)
    if grammar is None:
        return
    texts = ["".join(random.choices(PIECES, k=random.randrange(7))) for _ in range(25)]
    made = [written(format, random) for _ in range(25)]
    texts += made + [text[:-1] for text in made] + [text + "a" for text in made]
    for text in texts:
        assert judged(grammar, text) is accepts(format, text), text


def drawn(grammar: CompiledGrammar, left: int, random: Random) -> str:
    """A text of random choices among what the mask allows, within so many tokens."""
    configuration, tokens = grammar.start, []
    while left:
        allowed = [token for token in grammar.mask(configuration, left).nonzero()[0].tolist() if token != 62]
        if not allowed:
            break
        tokens.append(random.choice(allowed))
        configuration = grammar.take(configuration, tokens[-1])
        left -= 1
    return grammar.vocabulary.text(tokens).decode()


@given(formats(), st.integers(0, 6), st.randoms(use_true_random=False))
@examples(60)
def test_answers_fit_their_budgets(format: Format, more: int, random: Random) -> None:
    """Random choices among what the mask allows end within the budget, in a text that the matcher finds right."""
    grammar = _or_none(format)
    if grammar is None:
        return
    text = drawn(grammar, grammar.minimum.tokens + more, random)
    assert accepts(format, text), text


def _or_none(format: Format) -> CompiledGrammar | None:
    """The grammar; None where one text that free text leaves alone holds another, which is refused."""
    try:
        return compiled(format)
    except UnsupportedFeature as error:
        if "holds another one" in error.message or "starts something" in error.message:
            return None
        raise


def test_many_tags() -> None:
    """Each of a thousand tags in free text has its own contents, and an answer with several of them is complete."""
    rules = [[f"<f{n}>", {"type": "const_string", "value": f"{n}</f>"}] for n in range(1000)]
    grammar = compiled({"type": "dispatch", "rules": rules})
    assert judged(grammar, "f<f<f12>12</f>é<f999>999</f><")
    assert not judged(grammar, "<f12>13</f>")
    assert not judged(grammar, "<f12>12</f><f1>")
    texts = [drawn(grammar, 12, Random(seed)) for seed in range(20)]
    assert any("</f>" in text for text in texts)
    assert all(judged(grammar, text) for text in texts)
