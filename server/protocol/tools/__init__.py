"""Tools of a chat request, which of them may be called, and what templates show of them."""
