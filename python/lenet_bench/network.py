"""The network: names and shapes, defined only here in Python.

image 28x28 -> conv1 20@5x5 -> pool1 2x2 -> conv2 50@5x5 -> pool2 2x2
-> fc1 500, ReLU -> fc2 10 -> softmax
"""

LENET = "lenet"  # its name among other networks
IMAGE_SIDE = 28
IMAGE = (IMAGE_SIDE, IMAGE_SIDE)
CLASSES = 10

#: Each parameter's shape in Caffe's layout: (out, in, height, width), (out, in), (out,).
PARAMETERS: dict[str, tuple[int, ...]] = {
    "conv1.weight": (20, 1, 5, 5),
    "conv1.bias": (20,),
    "conv2.weight": (50, 20, 5, 5),
    "conv2.bias": (50,),
    "fc1.weight": (500, 800),
    "fc1.bias": (500,),
    "fc2.weight": (10, 500),
    "fc2.bias": (10,),
}

#: Each layer's output for one image; "fc1" is after its ReLU, "fc2" are the logits.
LAYERS: dict[str, tuple[int, ...]] = {
    "conv1": (20, 24, 24),
    "pool1": (20, 12, 12),
    "conv2": (50, 8, 8),
    "pool2": (50, 4, 4),
    "fc1": (500,),
    "fc2": (10,),
    "probabilities": (10,),
}

#: The steps of a call in their order: the layers, and the softmax of the last one.
STAGES = ("conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "softmax")
