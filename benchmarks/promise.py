"""`python -m benchmarks.promise`: one request with masks alone and with distances, the picture of the README.

The embedded model answers greedily within 24 tokens, twice. With masks alone the grammar's mask knows no budget, and
the text is cut when the tokens are used up. With distances the decoder is the server's. Both runs are kept token by
token in docs/results/promise.json, from which docs/results/promise.svg is drawn; `--draw` draws without a model.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import ROOT
from benchmarks.promise_picture import Data, Run, picture
from grammar_cache import CompiledGrammar, Constraint, compile_grammar
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from server.decoding.step import steps
from server.engines.contract import Engine, EngineError, Forward, SequenceId
from server.engines.embedded import default_cache, ensure_embedded_model

RESULTS = ROOT / "docs" / "results"
BUDGET = 24
PROMPT = "Describe Marie Curie in JSON: name, field, summary."
NAMES = ("name", "field", "summary")
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in NAMES},
    "required": list(NAMES),
    "additionalProperties": False,
}


def main(words: Sequence[str]) -> int:
    """Writes both files into the folder `--out`."""
    parser = ArgumentParser(prog="python -m benchmarks.promise", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of both files")
    parser.add_argument("--draw", action="store_true", help="only draw the data that are there")
    arguments = parser.parse_args(words)
    path: Path = arguments.out / "promise.json"
    if not arguments.draw:
        path.write_text(json.dumps(measured(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    data: Data = json.loads(path.read_text(encoding="utf-8"))
    path.with_suffix(".svg").write_text(picture(data), encoding="utf-8")
    return 0


def measured() -> Data:
    """Data of both runs of the embedded model, which is unpacked if it isn't there."""
    from server.engines.hugging_face.engine import TransformersEngine

    folder = ensure_embedded_model(default_cache(), lambda line: print(line, file=sys.stderr))
    engine = TransformersEngine(folder)
    try:
        grammar = compile_grammar(Constraint("json_schema", json.dumps(SCHEMA)), engine.vocabulary)
        prompt = engine.encode([{"role": "user", "content": PROMPT}])
        masks, distances = masks_alone(engine, grammar, prompt), with_distances(engine, grammar, prompt)
    finally:
        engine.shutdown()
    return {
        "model": engine.name,
        "prompt": PROMPT,
        "schema": SCHEMA,
        "budget": BUDGET,
        "minimum": grammar.minimum.tokens,
        "masks_alone": told(grammar, masks),
        "swyb": told(grammar, distances),
    }


def masks_alone(engine: Engine, grammar: CompiledGrammar, prompt: Sequence[int]) -> tuple[int, ...]:
    """The likeliest token that the grammar allows, again and again, until the text ends or is cut."""
    configuration, tokens = grammar.start, tuple[int, ...]()
    with opened(engine, prompt) as sequence:
        while len(tokens) < BUDGET:
            [logits] = asked(engine, Forward(sequence, (0,), (tokens[-1:],)))
            token = int(np.where(grammar.mask(configuration), logits, -np.inf).argmax())
            after = grammar.consume(configuration, token)
            if after is None:  # the end token
                break
            configuration, tokens = after, (*tokens, token)
    return tokens


def with_distances(engine: Engine, grammar: CompiledGrammar, prompt: Sequence[int]) -> tuple[int, ...]:
    """Tokens that the server answers at temperature 0."""
    decoder = Decoder(grammar, Parameters(budget=BUDGET))
    first = True
    with opened(engine, prompt) as sequence:
        while decoder.answer is None:
            wanted = decoder.wanted
            if first and wanted.tokens != ((),):  # the model reads the prompt first, alone
                asked(engine, Forward(sequence, (0,), ((),)))
            first = False
            logits = asked(engine, Forward(sequence, wanted.parents, wanted.tokens))
            decoder.advance(steps(grammar, wanted.places, logits, decoder.parameters))
    return decoder.answer.tokens


@contextmanager
def opened(engine: Engine, prompt: Sequence[int]) -> Iterator[SequenceId]:
    sequence = engine.open(prompt)
    try:
        yield sequence
    finally:
        engine.close(sequence)


def asked(engine: Engine, forward: Forward) -> NDArray[np.float32]:
    """Logits by row. Raises EngineError."""
    [found] = engine.step([forward])
    if isinstance(found, EngineError):
        raise found
    return found


def told(grammar: CompiledGrammar, tokens: Sequence[int]) -> Run:
    """A run's tokens, and the distance behind each with the start's before them."""
    configurations = [grammar.start]
    for token in tokens:
        after = grammar.consume(configurations[-1], token)
        assert after is not None, "the grammar allowed it"
        configurations.append(after)
    distances = [needed(grammar, configuration, BUDGET - used) for used, configuration in enumerate(configurations)]
    texts = [grammar.vocabulary.text([token]).decode() for token in tokens]
    return {"tokens": texts, "distances": distances, "complete": grammar.accepts(configurations[-1])}


def needed(grammar: CompiledGrammar, configuration: int, left: int) -> int:
    """The distance as decoding uses it with so many tokens left; where that is too few, the least that is known."""
    grammar.distances(np.array([configuration], np.int32), left)  # searches where the additive one is too far
    found = grammar.distance(configuration)
    assert found is not None, "a string can always be closed"
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
