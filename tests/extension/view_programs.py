"""Small functions whose pictures are compared. Line numbers matter: golden files show them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

from jaxlite_ipython.views import KernelsView, TraceView, View, kernels
from jaxlite_ipython.views.traced import subject_of

import jaxlite
import jaxlite.numpy as jnp
from jaxlite import lax

TABLE = jnp.arange(12, dtype=jnp.float32)


def layer(x: Any, w1: Any, b1: Any, w2: Any, t: Any) -> Any:
    h = jnp.tanh(x @ w1 + b1)
    y = h @ w2
    loss = jnp.mean((y - t) ** 2)
    return {"h": h, "y": y, "loss": loss}


def loops(x: Any, n: Any) -> Any:
    a = lax.fori_loop(0, 10, lambda i, v: v * 2 + jnp.sin(v) + TABLE.sum(), x)
    b = lax.while_loop(lambda v: v.sum() < 100, lambda v: v + 1.0, a)
    c = lax.cond(n > 3, lambda v: v * 2, lambda v: v - 1, b)
    return c, x


def dense(p: Any, x: Any) -> Any:
    return jnp.maximum(
        x @ p["w"]
        + p["b"],
        0.0,
    )  # fmt: skip


def net(params: Any, x: Any) -> Any:
    h = dense(params[0], x)
    return dense(params[1], h)


def strange(x: Any, unused: Any) -> Any:
    y = x + 1.0  # a comment that is <b>not</b> part of the picture
    z = y * len('<script>&"quotes" \\ ünï → 日本')
    return {"<b>&'z'": z}


def f32(*shape: int) -> Any:
    """Return the type of a float32 array."""
    return jaxlite.ShapeDtypeStruct(shape, jnp.float32)


ARGUMENTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "layer": (layer, (f32(64, 32), f32(32, 128), f32(128), f32(128, 10), f32(64, 10))),
    "loops": (loops, (f32(4), jaxlite.ShapeDtypeStruct((), jnp.int32))),
    "net": (net, ([{"w": f32(8, 8), "b": f32(8)}, {"w": f32(8, 3), "b": f32(3)}], f32(5, 8))),
    "strange": (strange, (f32(3), f32(2))),
}


def trace_view(name: str) -> TraceView:
    """Return the view of a program, without times."""
    f, args = ARGUMENTS[name]
    return timeless(f, *args)


def timeless(f: Any, *args: Any) -> TraceView:
    """Return the trace view of a function, without times and with a fixed prefix."""
    subject = subject_of(f, args, {})
    view = TraceView(replace(subject, traced=replace(subject.traced, trace_s=0.0)))
    view.prefix = "v"
    return view


def kernels_view(name: str) -> KernelsView:
    """Return the kernels of a program."""
    f, args = ARGUMENTS[name]
    view = kernels(f, *args)
    view.prefix = "v"
    return view


def svg_tree(view: View) -> ElementTree.Element:
    """Return the parsed SVG (so it is well formed)."""
    return ElementTree.fromstring(view.svg())


def svg_texts(view: View) -> list[str]:
    """Return what is written in the picture."""
    found = svg_tree(view).iter("{http://www.w3.org/2000/svg}text")
    return [t.text or "" for t in found]


def squash(text: str) -> str:
    """Return text without white space, for finding lines that were wrapped."""
    return re.sub(r"\s+", "", text)
