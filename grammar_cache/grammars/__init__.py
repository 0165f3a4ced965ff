"""The grammars that come with the package, and SQL over the tables of one database."""
