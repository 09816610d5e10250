"""Colours and shapes of the pictures. In: nothing. Out: one ``Family`` per kind of box.

Okabe-Ito hues, darkened so that each is at least 5.5:1 on white and 4.9:1 on its own fill. Colour
is never alone: every family has a shape of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DARK", "FAMILIES", "Family"]

INK = "#17212e"
DIM = "#5a6878"
FAINT = "#66717f"
LINE = "#dfe5ec"
PAPER = "#ffffff"
LANE = "#f8fafc"
SOFT = "#f5f7fa"
EDGE = "#8d95a1"
BLUE, BLUE_FILL = "#006ba6", "#e3f0f9"
GREEN, GREEN_FILL = "#007155", "#e0f3ec"
ORANGE, ORANGE_FILL = "#985a00", "#fdf1d8"
VERMILLION, VERMILLION_FILL = "#a84300", "#fbe6da"
PURPLE, PURPLE_FILL = "#94456f", "#f7e8f0"
GREY_FILL = "#eef1f5"
SKY, SKY_FILL = "#56b4e9", "#e9f6fd"

#: Each colour in the dark theme (at least 6:1 on the dark paper).
DARK = {
    INK: "#e8edf3",
    DIM: "#a3b0bf",
    FAINT: "#8b98a7",
    LINE: "#303944",
    PAPER: "#181d23",
    LANE: "#1c2229",
    SOFT: "#1f252d",
    EDGE: "#77828f",
    BLUE: "#63b8ea",
    BLUE_FILL: "#14324a",
    GREEN: "#45c9a0",
    GREEN_FILL: "#123a30",
    ORANGE: "#f0b13c",
    ORANGE_FILL: "#40300f",
    VERMILLION: "#ff9257",
    VERMILLION_FILL: "#452313",
    PURPLE: "#e59dc4",
    PURPLE_FILL: "#3c2233",
    GREY_FILL: "#272e37",
    SKY: "#8bd0f5",
    SKY_FILL: "#16384b",
}


@dataclass(frozen=True, slots=True)
class Family:
    """What a box is: ``name`` in the legend, ``shape`` (see ``shapes.py``) and colours."""

    name: str
    shape: str
    stroke: str
    fill: str


FAMILIES = {
    f.name: f
    for f in (
        Family("matmul", "square", BLUE, BLUE_FILL),
        Family("elementwise", "round", GREEN, GREEN_FILL),
        Family("reduction", "trapezoid", ORANGE, ORANGE_FILL),
        Family("indexing", "slanted", VERMILLION, VERMILLION_FILL),
        Family("loop or call", "double", INK, PAPER),
        Family("lines", "double", GREEN, GREEN_FILL),
        Family("other", "hexagon", FAINT, PAPER),
        Family("input", "pill", FAINT, GREY_FILL),
        Family("constant", "note", FAINT, GREY_FILL),
        Family("output", "arrow", PURPLE, PURPLE_FILL),
        Family("saved", "dashed", ORANGE, PAPER),
        Family("kept argument", "pill", FAINT, PAPER),
    )
}
