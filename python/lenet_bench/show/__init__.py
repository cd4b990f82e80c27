"""Print and draw results. Nothing is measured here."""
