"""Measure backends side by side, and record the machine.

This package imports nothing, so that a worker's cold start contains only what the worker needs.
"""
