"""What the tests of the page's two engines share: node, the page's folder and handwriting."""

import shutil
from pathlib import Path

import lenet_bench
import numpy as np
import pytest
from digits import BLACK, WHITE, lay, pen, saved, sheet
from lenet_bench.images import read_image
from processes import ran

FOLDER = Path(lenet_bench.__file__).parent / "show" / "classroom"

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def node(script, *arguments):
    """What a script beside this file, which takes the page's folder first, prints or says wrong."""
    return ran("node", Path(__file__).with_name(script), FOLDER, *arguments, timeout=3600).stdout


def handwriting(count):
    """Digits drawn in MNIST's format: bytes (count, 28, 28)."""
    images = []
    for n in range(count):
        paper = lay(sheet((180, 180), BLACK), pen(n % 10, 60 + n % 70), WHITE, (20, 20))
        content = saved(np.asarray(paper * 255 + 0.5, np.uint8))
        images.append(np.round(read_image(content) * 255))
    return np.asarray(images, np.uint8)
