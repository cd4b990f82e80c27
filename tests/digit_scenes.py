"""Photograph-like pictures of digits, made from a seed: what the tests of accuracy read."""

from dataclasses import dataclass

import numpy as np
from digit_photos import (
    BLACK,
    WHITE,
    camera,
    fibres,
    gradient,
    lay,
    pen,
    rule,
    shadow,
    sheet,
    specks,
    stored,
    tilted,
)

Colour = tuple[float, float, float]
PAPERS = ((0.97, 0.97, 0.97), (0.95, 0.93, 0.88), (0.9, 0.92, 0.95), (0.8, 0.8, 0.8))
INKS = ((0.08, 0.08, 0.1), (0.1, 0.15, 0.5), (0.6, 0.08, 0.1), (0.05, 0.35, 0.15))


@dataclass(frozen=True)
class Scene:
    """Ink on paper, lit and photographed; a pair is a range to draw from."""

    sides: tuple[int, int] = (200, 1000)  # pixels
    share: tuple[float, float] = (0.3, 0.7)  # the digit's height by the picture's
    stroke: tuple[float, float] = (0.05, 0.12)  # a stroke's width by the digit's height
    papers: tuple[Colour, ...] = PAPERS
    inks: tuple[Colour, ...] = INKS
    light: float = 0.4  # how much it falls off
    shadow: float = 0
    askew: bool = False
    lines: tuple[bool, ...] = ()  # whether they are squares too
    dust: int = 0
    grain: float = 0  # how unevenly the pen covers the paper
    mottle: float = 0
    blur: float = 1
    noise: float = 0.015
    form: str = "JPEG"


BOARDS = ((0.12, 0.22, 0.17), (0.1, 0.1, 0.11), (0.2, 0.22, 0.24))
SCENES = {
    "drawing": Scene((60, 500), (0.35, 0.85), (0.04, 0.18), (WHITE,), light=0, noise=0, form="PNG"),
    "tablet": Scene((100, 400), (0.4, 0.85), (0.08, 0.2), (BLACK,), (WHITE,), light=0, noise=0),
    "scan": Scene(light=0, dust=30),
    "photo": Scene((200, 1400), light=0.6, askew=True, mottle=0.01, blur=3, noise=0.03),
    "shaded": Scene(askew=True, shadow=0.6),
    "ruled": Scene((250, 1000), (0.25, 0.6), (0.06, 0.12), lines=(False,), askew=True),
    "squared": Scene((250, 1000), (0.25, 0.6), (0.06, 0.12), lines=(True,), askew=True),
    "faint": Scene(papers=((0.65, 0.65, 0.65),), inks=((0.4, 0.5, 0.67),), light=0.6),
    "pencil": Scene((500, 1600), (0.06, 0.15), inks=((0.4, 0.4, 0.4),), grain=0.3, mottle=0.006),
    "chalk": Scene(stroke=(0.06, 0.12), papers=BOARDS, inks=(WHITE,), grain=0.3, mottle=0.12),
    "marker": Scene((150, 700), (0.6, 0.9), (0.14, 0.22)),
    "hairline": Scene((300, 1400), (0.4, 0.8), (0.004, 0.006), (WHITE,), (BLACK,), light=0, blur=0),
    "colored": Scene((150, 600), papers=((0.9, 0.75, 0.3),), inks=((0.3, 0.5, 0.9),)),
    "murky": Scene((150, 700), papers=((0.6, 0.6, 0.6),), inks=((0.42, 0.42, 0.42),), noise=0.05),
}


def photograph(digit, name, seed):
    scene, rng = SCENES[name], np.random.default_rng([seed, digit])
    height, width = (int(side) for side in rng.uniform(0.85, 1.15, 2) * rng.integers(*scene.sides))
    ink_height = max(28, int(min(height, width) * rng.uniform(*scene.share)))
    ink = pen(digit, rng, ink_height, max(1.0, ink_height * rng.uniform(*scene.stroke)))
    covered = ink * np.clip(rng.normal(1 - scene.grain, scene.grain, ink.shape), 0, 1)
    paper = fibres(sheet((height, width), rng.choice(scene.papers)), rng, scene.mottle)
    for squared in scene.lines:
        paper = rule(paper, int(ink_height * rng.uniform(0.5, 1)), rng, squared=squared)
    gaps = (max(1, whole - part) for whole, part in zip((height, width), ink.shape, strict=True))
    at = [int(gap * rng.uniform(0.2, 0.8)) for gap in gaps]
    seen = lay(paper, covered, rng.choice(scene.inks), at)
    seen = specks(seen, rng, scene.dust, ink_height * 0.03)
    if scene.askew:
        seen = tilted(seen, rng)
    seen = shadow(gradient(seen, rng, scene.light), rng, scene.shadow)
    return stored(camera(seen, rng, rng.uniform(0, scene.blur), scene.noise), scene.form)
