"""Peers: other engines in processes of their own."""
