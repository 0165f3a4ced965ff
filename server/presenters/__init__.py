"""Presenters: jobs' answers in the shapes of an interface, whole or as the events of a stream. They know no HTTP."""
