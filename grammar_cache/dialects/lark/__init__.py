"""Lark grammars, as Lark's Earley parser or its LALR parser reads texts."""
