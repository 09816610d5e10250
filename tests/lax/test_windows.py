"""Convolutions and sliding windows against JAX: values, dtypes, derivatives, batches, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy

jax = pytest.importorskip("jax")

RNG = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


X1, K1 = array(2, 4, 9), array(6, 4, 3)
X2, K2 = array(2, 4, 7, 6), array(6, 4, 3, 2)
LAST = ("NHWC", "HWIO", "NHWC")
XL, KL = array(2, 7, 6, 4), array(3, 2, 4, 5)
#: Ties, so that the derivative of the greatest element has to choose.
W = np.round(array(5, 6) * 2)

#: Name -> (function of a module, operands that are differentiated).
CONVOLUTIONS: dict[str, Any] = {
    "conv": (lambda j, x, k: j.lax.conv(x, k, (2,), "SAME"), X1, K1),
    "valid": (lambda j, x, k: j.lax.conv(x, k, (1, 2), "VALID"), X2, K2),
    "lower": (lambda j, x, k: j.lax.conv(x, k, (1, 1), "SAME_LOWER"), X2, K2),
    "pads": (
        lambda j, x, k: j.lax.conv_with_general_padding(
            x, k, (2, 1), [(2, -1), (0, 3)], (2, 1), (1, 2)
        ),
        X2,
        K2,
    ),
    "channels last": (
        lambda j, x, k: j.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=LAST),
        XL,
        KL,
    ),
    "mixed layout": (
        lambda j, x, k: j.lax.conv_general_dilated(
            x, k, (1, 2), [(1, 2), (0, 1)], (1, 2), (2, 1), ("CNWH", "IHWO", "HNCW")
        ),
        X2,
        array(2, 3, 2, 5),
    ),
    "feature groups": (
        lambda j, x, k: j.lax.conv_general_dilated(x, k, (1,), "SAME", feature_group_count=2),
        X1,
        array(6, 2, 3),
    ),
    "depthwise": (
        lambda j, x, k: j.lax.conv_general_dilated(x, k, (1,), "SAME", feature_group_count=4),
        X1,
        array(8, 1, 3),
    ),
    "batch groups": (
        lambda j, x, k: j.lax.conv_general_dilated(x, k, (1,), "VALID", batch_group_count=2),
        X1,
        K1,
    ),
    "no space": (lambda j, x, k: j.lax.conv(x, k, (), "VALID"), array(3, 4), array(5, 4)),
    "window too long": (lambda j, x, k: j.lax.conv(x, k, (1,), "VALID"), X1, array(6, 4, 10)),
    "transpose": (lambda j, x, k: j.lax.conv_transpose(x, k, (2, 3), "SAME"), XL, KL),
    "transpose valid": (
        lambda j, x, k: j.lax.conv_transpose(x, k, (2, 1), "VALID", (1, 2)),
        XL,
        KL,
    ),
    "transpose kernel": (
        lambda j, x, k: j.lax.conv_transpose(x, k, (2, 1), [(1, 2), (0, 1)], transpose_kernel=True),
        XL,
        array(3, 2, 5, 4),
    ),
    "transpose consistent": (
        lambda j, x, k: j.lax.conv_transpose(
            x, k, (2, 1), [(1, 1), (0, 1)], use_consistent_padding=True
        ),
        XL,
        KL,
    ),
    "patches": (
        lambda j, x: j.lax.conv_general_dilated_patches(x, (3, 2), (1, 2), "SAME"),
        X2,
    ),
    "patches last": (
        lambda j, x: j.lax.conv_general_dilated_patches(
            x, (3, 2), (1, 2), [(0, 0), (1, 1)], (2, 1), dimension_numbers=LAST
        ),
        XL,
    ),
}


def window(name: str, init: Any, *options: Any, **named: Any) -> Any:
    """Return (function, operand) of one ``reduce_window``."""
    return (lambda j, x: j.lax.reduce_window(x, init, getattr(j.lax, name), *options, **named)), W


WINDOWS: dict[str, Any] = {
    "sum": window("add", 0.0, (2, 3), (1, 2), "SAME"),
    "max": window("max", -np.inf, (2, 2), (2, 1), "VALID"),
    "min": window("min", np.inf, (3, 2), (1, 1), "SAME_LOWER"),
    "base dilation": window("add", 0.0, (2, 2), (1, 3), [(1, 2), (0, -1)], (1, 2), (2, 1)),
    "too long": window("add", 0.0, (9, 2)),
}

#: JAX has no reverse mode of these.
FORWARD: dict[str, Any] = {
    "sum of one": window("add", 1.0, (2, 3)),
    "max dilated": window("max", -np.inf, (2, 2), (1, 1), "SAME", window_dilation=(2, 1)),
    "product": window("mul", 1.0, (2, 2), (1, 2), "SAME"),
}


def run(j: Any, case: Any) -> list[Any]:
    """Return value, compiled value, gradients, tangent and the value of a batch."""
    fun, *operands = case

    def loss(*args: Any) -> Any:
        return (j.numpy.sin(fun(j, *args)) * 0.3).sum()

    def call(*args: Any) -> Any:
        return fun(j, *args)

    places = tuple(range(len(operands)))
    args = [j.numpy.asarray(x) for x in operands]
    batch = [j.numpy.stack([x, 2 * x]) for x in args]
    value = call(*args)
    out = [value, j.vmap(call)(*batch)]
    out += j.jit(j.grad(loss, places))(*args)
    out.append(j.jvp(loss, args, [j.numpy.cos(x) for x in args])[1])
    return [np.asarray(x) for x in out]


@pytest.mark.jax_oracle
@pytest.mark.parametrize("case", [*CONVOLUTIONS.values(), *WINDOWS.values()])
def test_same_as_jax(case: Any) -> None:
    for ours, theirs in zip(run(jaxlite, case), run(jax, case), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)


@pytest.mark.jax_oracle
@pytest.mark.parametrize("case", FORWARD.values())
def test_same_values_as_jax(case: Any) -> None:
    fun, x = case
    for place in ("eager", "jit", "vmap"):
        out = []
        for j in (jaxlite, jax):
            wrap = {"eager": lambda f: f, "jit": j.jit, "vmap": j.vmap}[place]
            operand = np.stack([x, x + 1]) if place == "vmap" else x
            out.append(np.asarray(wrap(lambda v, j=j: fun(j, v))(operand)))
        np.testing.assert_allclose(*out, rtol=1e-5)


@pytest.mark.jax_oracle
def test_windows_of_pairs_and_integers() -> None:
    def pairs(j: Any) -> Any:
        def later(a: Any, b: Any) -> Any:
            keep = a[0] >= b[0]
            return j.lax.select(keep, a[0], b[0]), j.lax.select(keep, a[1], b[1])

        numbers = j.numpy.arange(W.size, dtype="int32").reshape(W.shape)
        ops, inits = (j.numpy.asarray(W), numbers), (-np.inf, np.int32(-1))
        return j.lax.reduce_window(ops, inits, later, (2, 2), (1, 1), "VALID")

    for ours, theirs in zip(pairs(jaxlite), pairs(jax), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    with_nan = np.float32([1, np.nan, 0, 2])
    for j in (jaxlite, jax):
        out = j.lax.reduce_window(with_nan, -np.inf, j.lax.max, (2,))
        np.testing.assert_array_equal(np.asarray(out), np.float32([np.nan, np.nan, 2]))


#: Calls that fail.
WRONG: tuple[Any, ...] = (
    lambda j: j.lax.conv(X1, K1[:, :2], (1,), "SAME"),
    lambda j: j.lax.conv(X1, K1, (1,), "FOO"),
    lambda j: j.lax.conv(X1, K2, (1,), "SAME"),
    lambda j: j.lax.conv(X1, K1.astype(np.int32), (1,), "SAME"),
    lambda j: j.lax.conv_general_dilated(X1, K1, (1,), [(1, 2), (3, 4)]),
    lambda j: j.lax.conv_general_dilated(X1, K1[:5, :2], (1,), "SAME", feature_group_count=2),
    lambda j: j.lax.conv_general_dilated(X1[:1], K1, (1,), "SAME", batch_group_count=2),
    lambda j: j.lax.conv_general_dilated(X1, K1, (1,), "SAME", (2,)),
    lambda j: j.lax.conv_dimension_numbers(X1.shape, K1.shape, ("NC", "OI")),
    lambda j: j.lax.conv_dimension_numbers(X2.shape, K2.shape, ("NCHW", "OIHW", "NCHX")),
    lambda j: j.lax.conv_dimension_numbers(X2.shape, K2.shape, "NCHW"),
    lambda j: j.lax.reduce_window(W, 0.0, j.lax.add, (2,), (1,), "SAME"),
    lambda j: j.lax.reduce_window(W, 0.0, j.lax.add, (2, 2), (0, 1), "VALID"),
)


@pytest.mark.jax_oracle
@pytest.mark.parametrize("case", WRONG)
def test_same_errors_as_jax(case: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - JAX says which
        case(jax)
    with pytest.raises(theirs.type) as ours:
        case(jaxlite)
    assert str(ours.value).split("\n")[0] == str(theirs.value).split("\n")[0]


@pytest.mark.jax_oracle
def test_shapes_of_windows() -> None:
    for j in (jaxlite, jax):
        assert j.lax.padtype_to_pads((5, 4), (2, 3), (1, 2), "SAME_LOWER") == [(1, 0), (1, 0)]
        shape = j.lax.reduce_window_shape_tuple((5, 4), (2, 3), (1, 2), [(0, 1), (1, 0)])
        assert tuple(shape) == (5, 2)
