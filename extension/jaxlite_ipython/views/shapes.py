"""Boxes by family. In: a place and a ``Family``. Out: shapes on a canvas."""

from __future__ import annotations

from jaxlite_ipython.views.canvas import Canvas, Pen
from jaxlite_ipython.views.palette import FAINT, Family

__all__ = ["draw_shape"]


def draw_shape(
    canvas: Canvas, family: Family, at: tuple[float, float, float, float], *, faint: bool = False
) -> None:
    """Draw the outline of a box at (x, y, width, height); ``faint`` for one that nobody reads."""
    x, y, w, h = at
    pen = Pen(family.fill, FAINT if faint else family.stroke, 1.5, dashed=faint)
    slant = min(14.0, h / 3)
    match family.shape:
        case "square":
            canvas.rect(x, y, w, h, pen, 4)
        case "round":
            canvas.rect(x, y, w, h, pen, min(12, h / 3))
        case "pill":
            canvas.rect(x, y, w, h, pen, h / 2)
        case "dashed":
            canvas.rect(x, y, w, h, Pen(family.fill, pen.stroke, 1.5, dashed=True), min(6, h / 3))
        case "trapezoid":
            canvas.polygon([(x, y), (x + w, y), (x + w - slant, y + h), (x + slant, y + h)], pen)
        case "slanted":
            canvas.polygon([(x + slant, y), (x + w, y), (x + w - slant, y + h), (x, y + h)], pen)
        case "hexagon":
            middle = y + h / 2
            sides = [(x + w - slant / 2, y), (x + w, middle), (x + w - slant / 2, y + h)]
            canvas.polygon([(x + slant / 2, y), *sides, (x + slant / 2, y + h), (x, middle)], pen)
        case "arrow":
            tip = min(14.0, h / 2)
            right = x + w - tip
            canvas.polygon(
                [(x, y), (right, y), (x + w, y + h / 2), (right, y + h), (x, y + h)], pen
            )
        case "note":
            fold = min(10.0, h / 2)
            corner = [(x + w - fold, y), (x + w, y + fold)]
            canvas.polygon([(x, y), *corner, (x + w, y + h), (x, y + h)], pen)
            canvas.polygon(
                [corner[0], (x + w - fold, y + fold), corner[1]], Pen("none", pen.stroke, 1)
            )
        case _:
            canvas.rect(x, y, w, h, pen, min(8, h / 3))
            inner = min(3.0, h / 6)
            inside = Pen("none", pen.stroke, 1)
            canvas.rect(x + inner, y + inner, w - 2 * inner, h - 2 * inner, inside, min(6, h / 4))
