"""Requests, responses and errors as clients see them. It knows no HTTP."""
