"""Common parts of commands: options, models, how errors and tables are printed."""
