"""Prints the GBNF rules of a name that is none of the reserved words: what `sql.gbnf` and `python_subset.gbnf` have.

Usage: python scripts/gbnf_words.py sql | python
"""

from __future__ import annotations

import keyword
import sys

from grammar_cache.grammars.reserved_words import MORE, other_words
from grammar_cache.grammars.sql_schema import RESERVED

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sql"]:
            print(other_words("word", RESERVED, any_case=True), MORE, sep="\n")
        case ["python"]:
            print(other_words("word", keyword.kwlist, any_case=False), MORE, sep="\n")
        case _:
            sys.exit(__doc__)
