"""``jaxlite.image`` against JAX: values, dtypes, derivatives, errors."""

from __future__ import annotations

from typing import Any

import jax
import jax.image
import numpy as np
import pytest

import jaxlite
import jaxlite.image
from tests.nn.oracle import check

pytestmark = pytest.mark.jax_oracle

METHODS = ["nearest", "linear", "lanczos3", "lanczos5", "cubic", "cubic-pytorch", "area"]
SHAPES = [((5, 7), (3, 9)), ((4, 4), (8, 2)), ((3,), (3,)), ((2, 3, 3), (2, 7, 1)), ((6,), (0,))]


def image(shape: Any, dtype: Any = np.float32) -> Any:
    return (np.random.default_rng(3).uniform(-1, 1, shape) * 4).astype(dtype)


def resize(lib: Any, *args: Any) -> Any:
    return lib.image.resize(*args)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_resize_gives_the_values_of_jax(method: str, antialias: bool) -> None:
    for old, new in SHAPES:
        check(resize, image(old), new, method, antialias, tolerance=2e-5)
    for dtype in (np.int32, np.uint8):
        check(resize, image((5, 7), dtype) % 7, (3, 9), method, antialias, tolerance=2e-5)


@pytest.mark.parametrize("method", METHODS[1:])
def test_scale_and_translate_and_its_derivatives(method: str) -> None:
    x = image((5, 4))
    scale, translation = np.float32([0.7, 1.6]), np.float32([0.4, -0.3])

    def total(lib: Any, x: Any, s: Any, t: Any) -> Any:
        out = lib.image.scale_and_translate(x, (4, 6), (0, -1), s, t, method)
        return (out * out).sum()

    check(lambda lib: total(lib, x, scale, translation), tolerance=1e-4)
    grads = [
        lib.jit(lib.grad(lambda *a, lib=lib: total(lib, *a), argnums=(0, 1, 2)))(
            x, scale, translation
        )
        for lib in (jaxlite, jax)
    ]
    for ours, theirs in zip(*grads, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3)


def test_resize_is_vectorised() -> None:
    x = image((3, 5, 5))
    ours = jaxlite.vmap(lambda x: jaxlite.image.resize(x, (3, 2), "cubic"))(x)
    theirs = jax.vmap(lambda x: jax.image.resize(x, (3, 2), "cubic"))(x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_bad_arguments_raise_what_jax_raises() -> None:
    x = image((3, 3))
    ones = np.ones(1, np.float32)
    check(lambda lib: lib.image.resize(x, (4,), "linear"))
    check(lambda lib: lib.image.resize(x, (4, 4), "best"))
    check(lambda lib: lib.image.scale_and_translate(x, (3, 3), (0,), ones, ones, "nearest"))
    check(lambda lib: lib.image.scale_and_translate(x, (3, 3), (5,), ones, ones, "linear"))
