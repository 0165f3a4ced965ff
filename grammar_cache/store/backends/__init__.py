"""The stores there are: a file by SQLite, and a Redis server."""
