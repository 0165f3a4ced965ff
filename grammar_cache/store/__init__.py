"""Where artefacts and findings are shared by processes and kept."""
