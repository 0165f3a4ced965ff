"""Peers: other constraint engines behind one narrow face. A schema goes in, masks come out.

Each peer runs on one thread with its own defaults and without a cache of grammars.
"""
