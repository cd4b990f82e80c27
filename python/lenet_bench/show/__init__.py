"""Draw what was measured, and print what was answered. Nothing is measured here."""
