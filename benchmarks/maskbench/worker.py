"""One engine on MaskBench in a process of its own: answers places of schemas with their outcomes."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.data import read_vocabulary, splitter, tokenizer_folder
from benchmarks.maskbench.archive import Case, Instance, read_cases
from benchmarks.maskbench.protocol import judge
from benchmarks.peers import find as peers
from benchmarks.peers.peer import Peer
from benchmarks.schemas.masks import OURS, Ours
from grammar_cache.warm_up import warm_up
from server.commands.garbage import keep_what_is_loaded

_WARM_UP = Case(
    "warm-up", '{"type": "object", "properties": {"a": {"type": "string"}}}', (Instance('{"a": "b"}', True),)
)


def main(words: Sequence[str]) -> int:
    """Answers until the input ends."""
    parser = ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--n", type=int, required=True)
    arguments = parser.parse_args(words)
    folder = tokenizer_folder(arguments.tokenizer)
    vocabulary = read_vocabulary(folder)
    found: Peer | None = Ours(vocabulary)
    if arguments.engine == OURS:
        warm_up(vocabulary)  # as a server does at its start
    else:
        found = peers.find([arguments.engine], vocabulary, folder)[arguments.engine]
    assert found is not None, "the parent asks for what is installed only"
    split, cases = splitter(folder), read_cases(arguments.n)
    judge(found, _WARM_UP, split)
    keep_what_is_loaded()  # the server does so once it is ready
    print("true", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(judge(found, cases[json.loads(line)], split))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
