"""tract: an operation is a node of the model."""

from .onnx_models import on_models

probes = on_models
