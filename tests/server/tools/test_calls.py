"""Calls are read back from texts, wherever these are cut; texts are written here by each form's own parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.tools.calling import CallableTool, Calling
from server.tools.calls import Call, CallPiece, CallReader, CallStart, Event, Parts, TextPiece, parts_of
from server.tools.forms import FORMS
from server.tools.json_end import JsonEnd
from tests.strategies import examples

OF_JSON = [name for name, form in FORMS.items() if form.parameters is None]
"""Forms whose arguments are one JSON object."""
NAMES = ("f", "get_weather", "a.b", "x-1/y:2")
TEXT_TOOL = "sql"
TOOLS = (
    *(CallableTool(name, {"type": "json_schema", "json_schema": {}}, "") for name in NAMES),
    CallableTool(TEXT_TOOL, {"type": "any_text"}, "", takes_text=True),
)
MARKS = ("<tool_call>", "</tool_call>", "[TOOL_CALLS]", '{"name"')
NASTY = (*MARKS, *"{}[]", '"', "\\", "\n", " ", "é", "😀", "a")

texts = st.lists(st.sampled_from(NASTY), max_size=6).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(texts, values, max_size=3)


@st.composite
def arguments(draw: st.DrawFn) -> str:
    """A JSON object, written in one of several ways."""
    indent, ascii_only = draw(st.sampled_from([None, 1])), draw(st.booleans())
    return json.dumps(draw(objects), indent=indent, ensure_ascii=ascii_only)


calls = st.lists(st.tuples(st.sampled_from(NAMES), arguments()), min_size=1, max_size=3)


def written(form_name: str, text: str, called: Sequence[tuple[str, str]]) -> str:
    """A text and calls as a model writes them."""
    form = FORMS[form_name]
    parts = [form.open + name + form.middle + given + form.close for name, given in called]
    return text + form.begin + form.separator.join(parts) + form.end


def events(calling: Calling, pieces: Sequence[str]) -> list[Event]:
    reader = CallReader(calling)
    found = [event for piece in pieces for event in reader.read(piece, last=False)]
    return [*found, *reader.read("", last=True)]


def joined(found: Sequence[Event]) -> Parts:
    """Events put together, as a client does."""
    said = "".join(event.text for event in found if isinstance(event, TextPiece))
    starts = [event for event in found if isinstance(event, CallStart)]
    assert [start.index for start in starts] == list(range(len(starts)))
    given = ["".join(e.text for e in found if isinstance(e, CallPiece) and e.index == at) for at in range(len(starts))]
    made = zip(starts, given, strict=True)
    return Parts(said, tuple(Call(start.name, text, start.takes_text) for start, text in made))


@pytest.mark.parametrize("form", OF_JSON)
@examples(60)
@given(text=texts, called=calls, data=st.data())
def test_what_is_written_is_read(form: str, text: str, called: list[tuple[str, str]], data: st.DataObject) -> None:
    """Text before calls, without white space at its end, and each call: the same for every way to cut the whole."""
    calling = Calling(TOOLS, FORMS[form])
    text = text.replace(FORMS[form].trigger, "")
    if FORMS[form].trigger in (text + FORMS[form].trigger)[:-1]:  # a text's end may be the beginning of a trigger
        text = ""
    whole = written(form, text, called)
    expected = Parts(text.rstrip(), tuple(Call(name, given, False) for name, given in called))
    assert parts_of(whole, calling) == expected
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert joined(events(calling, pieces)) == joined(events(calling, list(whole))) == expected


@pytest.mark.parametrize("form", FORMS)
@examples(30)
@given(given_text=texts)
def test_a_tool_that_takes_a_text(form: str, given_text: str) -> None:
    """The text ends where the answer does, whatever stands in it."""
    chosen = FORMS[form]
    calling = Calling(TOOLS, chosen, required=True)
    whole = chosen.lead + TEXT_TOOL + chosen.text_middle + given_text + chosen.text_end
    expected = Parts("", (Call(TEXT_TOOL, given_text, True),))
    assert parts_of(whole, calling) == joined(events(calling, list(whole))) == expected


@pytest.mark.parametrize("form", FORMS)
@examples(30)
@given(text=texts)
def test_a_text_alone(form: str, text: str) -> None:
    """A text without a trigger is all text, white space at its end too."""
    text = text.replace(FORMS[form].trigger, "")
    if FORMS[form].trigger not in text:
        calling = Calling(TOOLS, FORMS[form])
        assert parts_of(text, calling) == joined(events(calling, list(text))) == Parts(text, ())


@pytest.mark.parametrize("form", [name for name in OF_JSON if name != "llama"])
@examples(30)
@given(value=values)
def test_json_in_place_of_calls(form: str, value: object) -> None:
    """JSON that an answer may be instead is all text, triggers in its strings too."""
    calling = Calling(TOOLS, FORMS[form], text={"type": "json_schema", "json_schema": {}})
    text = json.dumps(value, ensure_ascii=False)
    assert parts_of(text, calling) == joined(events(calling, list(text))) == Parts(text, ())
    whole = written(form, "", [("f", "{}")])
    assert joined(events(calling, list(whole))) == Parts("", (Call("f", "{}", False),))


@examples(100)
@given(value=objects, rest=texts, data=st.data())
def test_the_end_of_an_object(value: dict[str, object], rest: str, data: st.DataObject) -> None:
    """The offset behind an object is that of Python's decoder, in whichever pieces it comes."""
    text = json.dumps(value, ensure_ascii=False)
    assert json.JSONDecoder().raw_decode(text + rest) == (value, len(text))
    cut = data.draw(st.integers(0, len(text) - 1))
    end = JsonEnd()
    assert end.find(text[:cut]) is None
    assert end.find("") is None
    assert end.find(text[cut:] + rest) == len(text) - cut


def test_a_text_that_leaves_its_grammar_is_an_error() -> None:
    """A text that no grammar of tools holds raises: none of it is guessed."""
    calling = Calling(TOOLS, FORMS["hermes"])
    for text in ("<tool_call>f", '<tool_call>\n{"name": "f", "arg', written("hermes", "", [("f", "{}")]) + "x"):
        with pytest.raises(ValueError, match=r"expected|within|behind"):
            parts_of(text, calling)
    assert parts_of("<tool", replace(calling, required=False)) == Parts("<tool", ())
