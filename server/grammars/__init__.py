"""Compiled grammars of a server: kept, named, shared with other servers."""
