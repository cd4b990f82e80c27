"""What is measured: LeNet, another network, a model file, or what a factory makes; a file each.

A new kind of subject is one more file with a class of `Subject`. This package imports nothing, so
that a worker's cold start contains only what the worker needs.
"""
