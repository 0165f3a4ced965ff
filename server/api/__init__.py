"""HTTP around the routes: access, bodies, streams, errors, ids, the description of the interface."""
