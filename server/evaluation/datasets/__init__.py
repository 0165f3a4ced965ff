"""The tasks: json-mode-eval, function calls, Spider, drone planning."""
