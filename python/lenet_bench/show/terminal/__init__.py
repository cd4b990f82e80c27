"""Output of the commands for people, one file for each question."""
