"""How the network learned: the history in its weights, and the test images it reads wrongly."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np

from ...mnist import Digits
from ...registry import load
from ...weights import read_weights

#: With the notice that the licence of the images asks for; bench/readme.py writes it.
_WRONG = Path(__file__).parent / "wrong.json"

_NOTICE = (
    "These images are from the MNIST database of handwritten digits by Yann LeCun and Corinna "
    "Cortes, licensed under CC BY-SA 3.0 (creativecommons.org/licenses/by-sa/3.0); unchanged."
)


def learnt() -> dict[str, Any] | None:
    """The share of held-out images that was wrong after each epoch, and the test images that are;
    None without a history.
    """
    kept = read_weights().metadata
    if "history" not in kept:
        return None
    epochs, recipe = (json.loads(kept[name]) for name in ("history", "recipe"))
    return {
        **{name: int(kept[name]) for name in ("chosen_epoch", "test_images", "test_correct")},
        "validation_images": recipe["validation"],
        "batch": recipe["batch"],
        "wrong_by_epoch": [round(1 - one["validation_accuracy"], 6) for one in epochs],
        **json.loads(_WRONG.read_text("utf-8")),
    }


def wrong_images(digits: Digits) -> dict[str, Any]:
    """Those that our kernels answer wrongly: pixels, label, answer, and its probability."""
    network = load("fused")
    answers = np.array([network.infer(image) for image in digits.ink()])
    said = answers.argmax(axis=1)
    wrong = [
        {
            "pixels": b64encode(digits.images[n].tobytes()).decode(),
            "label": int(digits.labels[n]),
            "answer": int(said[n]),
            "percent": round(100 * float(answers[n, said[n]]), 1),
        }
        for n in np.flatnonzero(said != digits.labels)
    ]
    return {"notice": _NOTICE, "wrong": wrong}
