"""Search near the horizon: which tokens fit in the few that are left."""
