"""What commands have in common: options, models, how errors and tables are printed."""
