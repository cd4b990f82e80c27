"""Networks of any size on the APIs that LeNet is written on.

An API is written twice. LeNet by hand, in `backends/`: read, counted and shown. And a builder of
any network, in `networks/builders/`, never counted or shown as what a user writes. `Placed` puts
its network in LeNet's place: the functions of the backend's file, one a variant, stay as they are.
"""

from collections.abc import Callable
from functools import cache

from ..errors import LenetBenchError
from ..network import LENET
from .graph import Draft
from .graph import Graph as Graph


def _mlp() -> Graph:
    draft = Draft((1, 28, 28))
    draft.classify(512, 512, 10)
    return draft.done("mlp", "the perceptron of Keras' example mnist_mlp.py")


def _lenet() -> Graph:
    draft = Draft((1, 28, 28))
    for out in (20, 50):
        draft.add("conv", out=out, side=5)
        draft.add("pool", side=2, stride=2)
    draft.classify(500, 10)
    return draft.done(LENET, "LeNet, with its trained weights")


def _gru() -> Graph:
    draft = Draft((150,))
    draft.add("embedding", side=30_000, out=125)
    draft.add("gru", out=100)
    draft.classify(2)
    return draft.done("gru", "150 words of a film review, read by a GRU")


def _cifar() -> Graph:
    draft = Draft((3, 32, 32))
    draft.convs("50 50 max 100 100 max")
    draft.classify(512, 10)
    return draft.done("cifar", "the CNN for CIFAR-10 of 2017's comparison of frameworks")


def _block() -> Graph:
    draft, width = Draft((128, 512)), 512
    attended = draft.add("attention", heads=8)
    draft.add("add", attended, "input")
    normed = draft.add("norm")
    draft.dense(4 * width, width)
    draft.add("add", draft.last, normed)
    draft.add("norm")
    draft.add("mean")
    return draft.done("block", "one encoder block of a transformer on 128 tokens, and their mean")


def _alexnet() -> Graph:
    draft = Draft((3, 224, 224))
    draft.conv(64, 11, stride=4, pad=2)
    draft.add("pool", side=3, stride=2)
    draft.conv(192, 5)
    draft.add("pool", side=3, stride=2)
    draft.convs("384 256 256")
    draft.add("pool", side=3, stride=2)
    draft.classify(4096, 4096, 1000)
    return draft.done("alexnet", "AlexNet as torchvision has it, after 'One weird trick'")


#: Channels of GoogLeNet's blocks: 1x1; 3x3 after 1x1; 5x5 after 1x1; 1x1 after the pool.
_INCEPTIONS = (
    "64 96 128 16 32 32, 128 128 192 32 96 64",
    "192 96 208 16 48 64, 160 112 224 24 64 64, 128 128 256 24 64 64, 112 144 288 32 64 64, "
    "256 160 320 32 128 128",
    "256 160 320 32 128 128, 384 192 384 48 128 128",
)


def _googlenet() -> Graph:
    draft = Draft((3, 224, 224))
    draft.conv(64, 7, stride=2)
    draft.add("pool", side=3, stride=2, pad=1)
    draft.conv(64, 1)
    draft.conv(192, 3)
    for stage in _INCEPTIONS:
        before = draft.add("pool", side=3, stride=2, pad=1)
        for block in stage.split(", "):
            one, three_in, three, five_in, five, pooled = map(int, block.split())
            branches = [
                draft.conv(one, 1, before),
                draft.conv(three, 3, draft.conv(three_in, 1, before)),
                draft.conv(five, 5, draft.conv(five_in, 1, before)),
                draft.conv(pooled, 1, draft.add("pool", before, side=3, pad=1)),
            ]
            before = draft.add("concat", *branches)
    draft.add("mean")
    draft.classify(1000)
    return draft.done("googlenet", "GoogLeNet, without local response normalisation")


def _resnet50() -> Graph:
    draft = Draft((3, 224, 224))
    draft.conv(64, 7, stride=2)
    before = draft.add("pool", side=3, stride=2, pad=1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for number in range(blocks):
            stride = 2 if stage and not number else 1
            kept = before
            if not number:
                kept = draft.add("conv", before, out=4 * width, stride=stride)
            draft.conv(width, 1, before)
            draft.conv(width, 3, stride=stride)
            draft.add("conv", out=4 * width)
            draft.add("add", draft.last, kept)
            before = draft.add("relu")
    draft.add("mean")
    draft.classify(1000)
    return draft.done("resnet50", "ResNet-50, its batch normalisations folded")


def _vgg16() -> Graph:
    draft = Draft((3, 224, 224))
    draft.convs("64 64 max 128 128 max 256 256 256 max 512 512 512 max 512 512 512 max")
    draft.classify(4096, 4096, 1000)
    return draft.done("vgg16", "VGG-16")


#: By multiply-adds, from a perceptron to VGG-16.
_MAKERS: dict[str, Callable[[], Graph]] = {
    "mlp": _mlp,
    "lenet": _lenet,
    "gru": _gru,
    "cifar": _cifar,
    "block": _block,
    "alexnet": _alexnet,
    "googlenet": _googlenet,
    "resnet50": _resnet50,
    "vgg16": _vgg16,
}
NETWORKS = tuple(_MAKERS)


@cache
def network(name: str) -> Graph:
    """The network of that name; LenetBenchError where there is none."""
    if name not in NETWORKS:
        raise LenetBenchError(f"no network is called {name}; there are {', '.join(NETWORKS)}")
    return _MAKERS[name]()
