"""Draw a result: it is read, never measured again."""
