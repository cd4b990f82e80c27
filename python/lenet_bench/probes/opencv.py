"""OpenCV: an operation is a node of the model."""

from .onnx_models import called_whole

probes = called_whole
