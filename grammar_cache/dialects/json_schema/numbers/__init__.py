"""Numbers between bounds, and multiples, digit by digit."""
