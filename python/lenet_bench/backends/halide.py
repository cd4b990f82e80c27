"""LeNet in Halide.

A language in Python or C++ in which the computation (`LeNet`) and its order (`scheduled`) are
written separately; LLVM compiles both. `by_hand` has a schedule of ours. `autoscheduled` leaves the
order to Halide's autoscheduler of 2016 (Mullapudi), which is done in a second; the one of 2019
(Adams) was not done in 200. The program is made for one image.
"""

from pathlib import Path

import halide as hl
import numpy as np

from ..weights import Weights
from . import Array, Infer

x, y, c, o, k, lane, inner = map(hl.Var, ("x", "y", "c", "o", "k", "lane", "inner"))


class LeNet:
    """The computation without an order; a NumPy array's last dimension is Halide's first."""

    def __init__(self, weights: Weights) -> None:
        p = weights.parameters  # load
        self.image = hl.ImageParam(hl.Float(32), 3, "image")
        self.conv1 = convolve(self.image, p["conv1.weight"], p["conv1.bias"])
        self.pool1 = max_pool(self.conv1)
        self.conv2 = convolve(self.pool1, p["conv2.weight"], p["conv2.bias"])
        self.pool2 = max_pool(self.conv2)
        self.flat = hl.Func("flat")  # fc1
        self.flat[k] = self.pool2[k % 4, k // 4 % 4, k // 16]  # fc1
        self.fc1 = dense(self.flat, p["fc1.weight"], p["fc1.bias"], lanes=16)
        self.relu = hl.Func("relu")  # fc1
        self.relu[k] = hl.max(self.fc1[k], 0)  # fc1
        self.fc2 = dense(self.relu, p["fc2.weight"], p["fc2.bias"], lanes=4)
        self.powers, self.softmax = hl.Func("powers"), hl.Func("softmax")
        r = hl.RDom([(0, 10)])  # softmax
        self.powers[k] = hl.exp(self.fc2[k] - hl.maximum(self.fc2[r]))  # softmax
        self.softmax[k] = self.powers[k] / hl.sum(self.powers[r])


# conv1 and conv2
def convolve(maps: hl.Func, weight: Array, bias: Array) -> hl.Func:
    """Each output pixel is its window times the kernel, plus the bias."""
    kernel, offset = hl.Buffer(weight).copy(), hl.Buffer(bias).copy()
    out, r = hl.Func("conv"), hl.RDom([(0, 5), (0, 5), (0, weight.shape[1])])
    out[x, y, c] = offset[c]
    out[x, y, c] += kernel[r.x, r.y, r.z, c] * maps[x + r.x, y + r.y, r.z]
    return out


# pool1 and pool2
def max_pool(maps: hl.Func) -> hl.Func:
    """The largest of each 2x2 square."""
    out, r = hl.Func("pool"), hl.RDom([(0, 2), (0, 2)])
    out[x, y, c] = hl.maximum(maps[2 * x + r.x, 2 * y + r.y, c])
    return out


# fc1 and fc2
def dense(values: hl.Func, weight: Array, bias: Array, lanes: int) -> hl.Func:
    """The matrix times the values, plus the bias; a row in pieces of `lanes` values."""
    pieces = weight.reshape(len(bias), -1, lanes)
    matrix, offset = hl.Buffer(pieces).copy(), hl.Buffer(bias).copy()
    out, r = hl.Func("dense"), hl.RDom([(0, lanes), (0, pieces.shape[1])])
    out[o] = offset[o]
    out[o] += matrix[r.x, r.y, o] * values[r.x + lanes * r.y]
    return out


def scheduled(net: LeNet, threads: int) -> None:
    """The computation with its order."""
    in_tiles(net.conv1, net.pool1, threads)  # conv1 and pool1
    in_tiles(net.conv2, net.pool2, threads)  # conv2 and pool2
    net.flat.compute_root().vectorize(k, 4)  # fc1
    by_rows(net.fc1)
    if threads > 1:
        net.fc1.update().parallel(o)
    net.relu.compute_root().vectorize(k, 4)  # fc1
    by_rows(net.fc2)
    net.powers.compute_root()  # softmax


# conv1, pool1, conv2 and pool2
def in_tiles(conv: hl.Func, pool: hl.Func, threads: int) -> None:
    """Each tile of 8x2 pixels and five maps is convolved in registers, then pooled."""
    pool.compute_root().split(c, c, inner, 5).split(x, x, lane, 4)
    pool.reorder(lane, inner, x, y, c).vectorize(lane).unroll(inner)
    if threads > 1:
        pool.parallel(c)
    conv.compute_at(pool, x).vectorize(x, 8).unroll(y).unroll(c)
    conv.update().reorder(x, y, c, *conv.rvars(0)).vectorize(x, 8).unroll(y).unroll(c)


# fc1 and fc2
def by_rows(fc: hl.Func) -> None:
    """Five rows at once; a row has a sum for each lane, and these are added in the end."""
    across, _ = fc.rvars(0)
    sums = fc.update().rfactor(across, lane)
    fc.compute_root().update().split(o, o, inner, 5, hl.TailStrategy.RoundUp)
    fc.update().unroll(inner).atomic().vectorize(across)
    sums.compute_at(fc, o).reorder_storage(lane, o).vectorize(lane).unroll(o)
    sums.update().reorder(lane, o).vectorize(lane).unroll(o)


def compiled(net: LeNet) -> Infer:
    """The program for one image, from array to array."""
    program = net.softmax.compile_to_callable([net.image], hl.get_jit_target_from_environment())

    def infer(images: Array) -> Array:
        probabilities = np.empty(10, np.float32)
        program(images, probabilities)
        return probabilities[np.newaxis]

    return infer


def by_hand(weights: Weights, threads: int) -> Infer:
    """Our schedule."""
    net = LeNet(weights)
    scheduled(net, threads)
    return compiled(net)


def autoscheduled(weights: Weights, threads: int) -> Infer:
    """The autoscheduler's."""
    hl.load_plugin(str(Path(hl.install_dir()) / "lib64" / "libautoschedule_mullapudi2016.so"))
    net = LeNet(weights)
    net.image.set_estimates([(0, 28), (0, 28), (0, 1)])
    net.softmax.set_estimates([(0, 10)])
    settings = hl.AutoschedulerParams("Mullapudi2016", {"parallelism": str(threads)})
    hl.Pipeline([net.softmax]).apply_autoscheduler(hl.get_jit_target_from_environment(), settings)
    return compiled(net)


def describe() -> dict[str, str]:
    """The processor that it generates code for."""
    return {"target": str(hl.get_jit_target_from_environment())}
