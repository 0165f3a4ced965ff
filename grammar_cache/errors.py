"""Reasons for refusing a constraint: every refusal of the core is one of these; bad input raises nothing else.

GrammarError(ValueError)      code, message, pointer | line, column
├── GrammarSyntaxError        the text is not a grammar of its dialect        (invalid_grammar)
├── UnsupportedFeature        understood, but it can't be enforced             (unsupported_feature)
├── EmptyLanguage             no text belongs, or the vocabulary spells none   (empty_language)
├── AnswerTooLong             texts belong, none short enough to be counted    (answer_too_long)
├── BudgetTooSmall            no answer is known that fits the budget           (budget_too_small)
├── LimitExceeded             one of `Limits` was hit                          (`limit`_exceeded)
└── VocabularyError           the tokenizer can't be read as bytes             (unsupported_tokenizer)
"""

from __future__ import annotations

LONGEST_NAME = 120
"""Characters of a rule's name that a message shows."""


class GrammarError(ValueError):
    """A typed refusal.

    `pointer` is a JSON Pointer into a JSON Schema (RFC 6901, "" = the root); `line` and `column` count from 1
    in a grammar text. Fields that don't apply are None; a list of choices, which may be no JSON further on, has all.
    """

    code: str = "invalid_grammar"

    def __init__(
        self, message: str, *, pointer: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.pointer = pointer
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles have the same members: what made them isn't asked for again."""
        return _copied, (type(self), self.args), self.__dict__

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.message} (line {self.line}, column {self.column})"
        if self.pointer is not None:
            return f"{self.message} (at {self.pointer or 'the root'})"
        return self.message


class GrammarSyntaxError(GrammarError):
    """The text is not a grammar (schema, regex, list of choices) of its dialect."""

    code = "invalid_grammar"


class UnsupportedFeature(GrammarError):
    """The construct is understood, but the automaton can't enforce it: refused rather than ignored."""

    code = "unsupported_feature"


class EmptyLanguage(GrammarError):
    """Language without a word that the vocabulary can spell."""

    code = "empty_language"


class AnswerTooLong(GrammarError):
    """Texts belong to the language and the vocabulary can spell them, but they are longer than any answer.

    `min_tokens`: no text is known that takes fewer. The count ends there.
    """

    code = "answer_too_long"

    def __init__(self, min_tokens: int) -> None:
        super().__init__(f"every answer that is known needs {min_tokens} tokens or more")
        self.min_tokens = min_tokens


class BudgetTooSmall(GrammarError):
    """No complete answer is known that takes as few tokens as `budget`.

    `min_tokens`: those that suffice; `exact`: whether fewer can't, or else none was found that takes fewer.
    """

    code = "budget_too_small"

    def __init__(self, budget: int, min_tokens: int, exact: bool) -> None:
        super().__init__(f"a complete answer needs at least {min_tokens} tokens, and the budget is {budget}")
        self.budget = budget
        self.min_tokens = min_tokens
        self.exact = exact


class Interrupted(Exception):
    """The work was told to stop; it says nothing of the grammar, so it is no GrammarError."""


class ArtefactError(ValueError):
    """Bytes that are no compiled grammar, or not one for this vocabulary and these limits. No GrammarError: nobody's
    grammar is refused.
    """


class LimitExceeded(GrammarError):
    """A limit of `Limits` was hit; `limit` names the field, and `code` is that name with `_exceeded`.

    `rule`: the rule of the grammar that met it, where one did.
    """

    def __init__(
        self,
        message: str,
        *,
        limit: str,
        pointer: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, pointer=pointer, line=line, column=column)
        self.limit = limit
        self.rule: str | None = None
        self.code = f"{limit}_exceeded"

    def of_rule(self, name: str) -> LimitExceeded:
        """The error, with the name of the rule that met the limit in its message."""
        if self.rule is None:
            self.rule = name
            self.message += f", in the rule {_short(name)!r}"
        return self


class VocabularyError(GrammarError):
    """The tokenizer's tokens can't be read as byte strings."""

    code = "unsupported_tokenizer"


def _copied(kind: type[GrammarError], args: tuple[object, ...]) -> GrammarError:
    return kind.__new__(kind, *args)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
