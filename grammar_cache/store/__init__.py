"""Store in which processes share and keep artefacts and findings."""
