"""What can be asked of a backend, a file a question."""
