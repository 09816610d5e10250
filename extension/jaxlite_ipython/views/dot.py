"""The program that turns DOT text into PNG. In: DOT text. Out: bytes, or nothing.

Looked for in this order: ``jaxlite.config.dot`` (``JAXLITE_DOT``), ``graphviz-pure`` beside this
Python, ``graphviz-pure`` and then ``dot`` on the PATH. Nothing here raises for a missing or broken
renderer: a view then shows what needs none, with the message JL002.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sysconfig
from typing import Any

import numpy as np
from PIL import Image

import jaxlite

__all__ = ["JL002", "LIMIT_S", "RenderTimeout", "fewer_colours", "find_renderer", "render"]

#: Seconds a picture may take; then the view is drawn in less detail.
LIMIT_S = 1.5
JL002 = "JL002 No graph renderer found, showing no PNG. Fix: pip install graphviz-pure"


class RenderTimeout(Exception):
    """The renderer needed longer than the limit."""


def find_renderer() -> str | None:
    """Return the path of the renderer, or None. A configured one that does not exist is None."""
    configured: str | None = jaxlite.config.dot
    if configured:
        return shutil.which(os.path.expanduser(configured))
    scripts = sysconfig.get_path("scripts")
    return (
        (shutil.which("graphviz-pure", path=scripts) if scripts else None)
        or shutil.which("graphviz-pure")
        or shutil.which("dot")
    )


def render(
    dot: str, kind: str, *, engine: str = "neato", dpi: int = 144, limit_s: float = LIMIT_S
) -> bytes | None:
    """Return the picture as ``kind`` ('png', 'svg' ...), or None if no renderer could make it.

    ``engine`` 'neato' takes the positions in the text as they are; 'dot' lays out.

    Raises:
        RenderTimeout: it took longer than ``limit_s``.
    """
    renderer = find_renderer()
    if renderer is None:
        return None
    command = [renderer, f"-K{engine}", "-q", f"-T{kind}", f"-Gdpi={dpi}"]
    if engine == "neato":
        command.append("-n2")
    try:
        done = subprocess.run(
            command, input=dot.encode(), capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RenderTimeout(f"{renderer} needed longer than {limit_s} s") from error
    except OSError:
        return None  # not a program of this machine: the same as none
    return done.stdout if done.returncode == 0 and done.stdout else None


def fewer_colours(png: bytes, n_colours: int) -> bytes:
    """Return a PNG with a table of up to 256 colours: about 40 % of the size.

    The most frequent ones stay exact; the others, edges of letters and lines, become the nearest.
    """
    with Image.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGB")
    counted = sorted(picture.getcolors(picture.width * picture.height) or (), reverse=True)
    used = np.array([colour for _, colour in counted], np.int32)
    kept = used[:n_colours]
    distances = np.abs(used[:, None] - kept[None]).sum(axis=-1)
    places = np.zeros(1 << 24, np.uint8)
    places[_packed(used)] = distances.argmin(axis=1)
    table = Image.fromarray(places[_packed(np.asarray(picture, np.int32))], "P")
    table.putpalette(kept.astype(np.uint8).tobytes())
    small = io.BytesIO()
    table.save(small, "PNG")
    return small.getvalue()


def _packed(colours: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return colours (the last axis is red, green, blue) as one number each."""
    packed: np.ndarray[Any, Any] = colours[..., 0] << 16 | colours[..., 1] << 8 | colours[..., 2]
    return packed
