"""Regular expressions, for whole texts or for a match anywhere."""
