"""The constraint core by itself: compiling, steps, masks, artefacts."""
