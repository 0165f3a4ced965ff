"""Errors as other processes and copies have them."""

from __future__ import annotations

import copy
import pickle

import pytest

from grammar_cache import GrammarError
from grammar_cache.errors import (
    AnswerTooLong,
    BudgetTooSmall,
    EmptyLanguage,
    GrammarSyntaxError,
    LimitExceeded,
    UnsupportedFeature,
    VocabularyError,
)


@pytest.mark.parametrize(
    "error",
    [
        BudgetTooSmall(1, 3, exact=True),
        AnswerTooLong(5),
        LimitExceeded("too many", limit="rules", line=3, column=4).of_rule("start"),
        GrammarSyntaxError("no grammar", pointer="/a"),
        UnsupportedFeature("not here", line=1, column=2),
        EmptyLanguage("nothing"),
        VocabularyError("no tokens"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_pickling_and_copying(error: GrammarError) -> None:
    """An error of another process is that error, with all that it tells: pools of processes pickle what is raised."""
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert (str(other), vars(other), other.code) == (str(error), vars(error), error.code)


def test_an_error_tells_its_place() -> None:
    """The root of a schema isn't its member without a name, which "/" points at."""
    told = [str(GrammarSyntaxError("no", pointer=pointer)) for pointer in ("", "/", "/a")]
    assert told == ["no (at the root)", "no (at /)", "no (at /a)"]
    assert [str(GrammarSyntaxError("no", line=1, column=2)), str(GrammarSyntaxError("no"))] == [
        "no (line 1, column 2)",
        "no",
    ]
