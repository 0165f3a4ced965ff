"""Objects and arrays, and the counts of what is in them."""
