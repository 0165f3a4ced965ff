"""Arrays whose items may not repeat: what may follow an item, given the texts of those before it."""
