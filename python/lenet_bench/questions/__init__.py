"""One file for each question about backends."""
