"""What the commands print for people, a file a question."""
