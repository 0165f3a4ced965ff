"""Linear temporal logic: reading formulas, and telling whether two of them mean the same."""
