"""Algorithm 1: steps, beams, scores, draws. It knows no engine and no HTTP."""
