"""Grammars for engines that read Lark."""
