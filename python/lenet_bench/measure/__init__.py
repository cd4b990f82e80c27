"""Measure the backends against each other, and know the machine they ran on.

Importing this imports nothing, so that a worker's cold start has only what the worker needs.
"""
