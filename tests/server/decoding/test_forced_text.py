"""Jumps over forced text: cut as the tokenizer does, the last token left open, and never at the price of the budget."""

from grammar_cache.expression import Alt, Bytes, Grammar, Repeat, Seq, char_class
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Parameters
from tests.server.decoding.grammars import compiled, longest_match
from tests.server.decoding.test_decoder import decode

LETTERS = [bytes([b]) for b in b'{}":amen12']
VOCABULARY = Vocabulary([*LETTERS, b'{"', b"na", b"name", b'":', b'":"', None], [15])
DIGITS = Repeat(char_class([(0x31, 0x32)]), 0, 9)
OBJECT = Grammar({"root": Seq((Bytes(b'{"name":"'), DIGITS, Bytes(b'"}')))}, "root")
GRAMMAR = compiled(OBJECT, VOCABULARY)
BY_LETTERS = {text: number for number, text in enumerate(LETTERS)}


def prefers_letters(text: bytes) -> list[float]:
    """A model that would write forced text letter by letter, then `12` and the end."""
    wanted = b'{"name":"12"}'[len(text) :][:1]
    return [5.0 * (token == wanted) for token in VOCABULARY.token_bytes[:-1]] + [0.0]


def test_forced_text() -> None:
    """The text that every way to go on begins with; nothing where two bytes may follow, or where the text may end."""
    language = ForcedText(GRAMMAR, longest_match(VOCABULARY))
    for text, forced in ((b"", b'{"name":"'), (b'{"na', b'me":"'), (b'{"name":"', b""), (b'{"name":"1"', b"}")):
        configuration = GRAMMAR.consume_bytes(GRAMMAR.start, text)
        assert configuration is not None
        assert language.forced(configuration) == forced
    ended = GRAMMAR.consume_bytes(GRAMMAR.start, b'{"name":""}')
    assert ended is not None
    assert language.forced(ended) == b""


def test_a_choice_of_bytes_is_not_forced() -> None:
    """Two bytes that may follow are a choice, whether the grammar tells them apart or not."""
    for rule in (Alt((Bytes(b"1a"), Bytes(b"2m"))), Seq((char_class([(0x31, 0x32)]), Bytes(b"a")))):
        grammar = compiled(Grammar({"root": rule}, "root"), VOCABULARY)
        assert ForcedText(grammar, longest_match(VOCABULARY)).forced(grammar.start) == b""


def test_forced_text_costs_no_model_call() -> None:
    """Forced text takes the tokenizer's own tokens: `{"`, `name`; the model is asked for what may be `":` or `":"`."""
    language = ForcedText(GRAMMAR, longest_match(VOCABULARY))
    plain, _, asked = decode(GRAMMAR, Parameters(budget=30), prefers_letters)
    jumped, _, asked_less = decode(language, Parameters(budget=30), prefers_letters)
    assert plain.text == jumped.text == b'{"name":"12"}'
    words = [VOCABULARY.token_bytes[token] for token in jumped.tokens]
    assert words[:2] == [b'{"', b"name"]
    assert asked_less < asked
    assert jumped.budget_forced_tokens == 0


def test_the_budget_comes_first() -> None:
    """A tokenizer that cuts into single letters would need more tokens than there are: then it is not followed."""
    language = ForcedText(GRAMMAR, lambda text: [BY_LETTERS[bytes([byte])] for byte in text.encode()])
    for budget in range(GRAMMAR.minimum.tokens, 14):
        answer, _, _ = decode(language, Parameters(budget=budget), prefers_letters)
        assert answer.complete
        assert answer.tokens_used <= budget
    assert GRAMMAR.minimum.tokens == 5


def test_tokens_that_do_not_spell_the_text_are_not_taken() -> None:
    """A tokenizer that puts a space before every text, or knows only a part of it, is no help."""
    for split in (lambda text: [0, *longest_match(VOCABULARY)(text)], lambda text: [], lambda text: [15, 10]):
        assert ForcedText(GRAMMAR, split).only_token(GRAMMAR.start, 30) is None
