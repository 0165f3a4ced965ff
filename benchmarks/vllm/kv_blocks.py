"""Blocks of keys and values that beams hold in vLLM: reserved before an answer begins, and held at most while it runs.

`python -m benchmarks.vllm.kv_blocks`, in the environment with vLLM: its own scheduler with ours, over workers in
miniature. No model is computed: the texts are those of random logits.
"""

from __future__ import annotations

from argparse import ArgumentParser
from math import ceil

from benchmarks.tables import markdown, number
from grammar_cache import Constraint, Vocabulary, compile_grammar
from server.backends.vllm.frontend.capacity import room_for
from server.backends.vllm.wire.requests import BEAM, KEY, SearchRequest
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from tests.server.backends.vllm.scheduler.simulation import BLOCK, Engine, Job, Workers, made, request

BEAMS = (1, 2, 4, 8, 16)
POOL = 4096


def held(prompt: int, budget: int, beams: int) -> tuple[int, int]:
    """Blocks that are reserved for an answer, and those that it holds at most. Raises RuntimeError without an end."""
    vocabulary = Vocabulary([b"a", b"b", b"c", b"ab", b"ca", None], [5])
    grammar = compile_grammar(Constraint("regex", f"[a-c]{{{budget},{2 * budget}}}"), vocabulary)
    parameters = Parameters(budget, beams, beams, 0.3, seed=1)
    tokens = Decoder(grammar, parameters).wanted.tokens
    asked = SearchRequest("answer", "g", parameters, *tokens).to_dict()
    text = [token % 5 for token in range(prompt)] + list(tokens[0])
    room = room_for(prompt + budget, beams, ((BLOCK, None),))
    engine = Engine(made(POOL, beams, tokens=prompt + budget), Workers(grammar), asynchronous=False)
    pool = engine.scheduler.kv_cache_manager.block_pool
    free = pool.get_num_free_blocks()
    job = Job(request("answer-id", text, budget, {KEY: asked, BEAM: "answer"}), room, None)
    engine.add(job)
    most = 0
    for _ in range(4 * budget):
        engine.step()
        most = max(most, free - pool.get_num_free_blocks())
        if job.ended:
            return room.blocks, most
    raise RuntimeError("the answer doesn't end")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--prompt", type=int, default=160, help="tokens of the prompt")
    parser.add_argument("--budget", type=int, default=60, help="tokens of the answer")
    options = parser.parse_args()
    one = ceil((options.prompt + options.budget) / BLOCK)
    rows = []
    for beams in BEAMS:
        reserved, most = held(options.prompt, options.budget, beams)
        rows.append([str(beams), str(reserved), str(most), number(most / one)])
    print(f"A prompt of {options.prompt} tokens, an answer of {options.budget}, blocks of {BLOCK}; one text: {one}.\n")
    print(markdown(["Beams", "blocks reserved", "held at most", "of one text"], rows))


if __name__ == "__main__":
    main()
