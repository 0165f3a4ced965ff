"""The tokens of a model as bytes: tokenizer files, the trie, sets of tokens."""
