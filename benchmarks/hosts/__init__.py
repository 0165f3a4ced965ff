"""Engines that other people run, with the guarantee inside them."""
