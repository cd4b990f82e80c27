"""Measure the rungs against each other, and know the machine they ran on."""
