"""Convolutions and reductions over windows against JAX: values, derivatives, batches, messages."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxlite

pytestmark = pytest.mark.jax_oracle

NHWC = ("NHWC", "HWIO", "NHWC")
#: lhs, rhs, strides, padding, options
CONVOLUTIONS: dict[str, tuple[Any, Any, Any, Any, dict[str, Any]]] = {
    "same": ((2, 3, 8, 8), (4, 3, 3, 3), (1, 1), "SAME", {}),
    "lower": ((2, 3, 8, 7), (4, 3, 3, 2), (2, 3), "same_lower", {}),
    "negative pads": ((2, 3, 8, 7), (4, 3, 3, 2), (2, 1), [(1, 2), (-1, 3)], {}),
    "holes": (
        (2, 3, 6, 5), (4, 3, 3, 2), (2, 1), [(1, 2), (-1, 3)],
        {"lhs_dilation": (2, 3), "rhs_dilation": (1, 2)},
    ),
    "groups": (
        (2, 4, 8, 7), (6, 2, 3, 2), (2, 1), "SAME",
        {"feature_group_count": 2, "rhs_dilation": (2, 1)},
    ),
    "depthwise": ((2, 4, 6, 7), (4, 1, 3, 2), (1, 1), "SAME", {"feature_group_count": 4}),
    "batch groups": (
        (4, 3, 8, 7), (6, 3, 3, 2), (1, 2), [(0, 1), (1, 0)], {"batch_group_count": 2},
    ),
    "strided": ((2, 3, 9, 8), (4, 3, 3, 3), (2, 2), "SAME", {}),
    "gaps": ((2, 3, 9, 8), (4, 3, 2, 1), (3, 2), "VALID", {}),
    "fewer features": ((2, 9, 7, 6), (2, 9, 3, 2), (2, 1), "SAME", {"rhs_dilation": (1, 2)}),
    "depthwise last": (
        (2, 6, 7, 4), (3, 2, 1, 8), (2, 1), "SAME",
        {"dimension_numbers": NHWC, "feature_group_count": 4},
    ),
    "channels last": ((2, 8, 7, 3), (3, 2, 3, 5), (1, 2), "SAME", {"dimension_numbers": NHWC}),
    "odd axes": (
        (8, 7, 3, 2), (3, 2, 4, 3), (1, 2), "SAME",
        {"dimension_numbers": ("WHCN", "WHOI", "CWNH")},
    ),
    "1d": ((2, 3, 9), (4, 3, 3), (2,), "SAME", {}),
    "3d": ((2, 3, 4, 5, 4), (2, 3, 2, 3, 2), (1, 2, 1), "SAME", {}),
    "0d": ((2, 3), (4, 3), (), "SAME", {}),
    "1x1": ((2, 3, 4, 4), (4, 3, 1, 1), (1, 1), "VALID", {}),
    "no examples": ((0, 3, 8, 8), (4, 3, 3, 3), (1, 1), "VALID", {}),
    "no windows": ((2, 3, 2, 2), (4, 3, 3, 3), (1, 1), "VALID", {}),
}  # fmt: skip


def normal(shape: tuple[int, ...], seed: int = 0) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def close(ours: Any, theirs: Any, tolerance: float = 1e-4) -> None:
    flat_ours = jaxlite.tree.leaves(jaxlite.tree.map(np.asarray, ours))
    flat_theirs = jax.tree.leaves(theirs)
    assert len(flat_ours) == len(flat_theirs)
    for a, b in zip(flat_ours, flat_theirs):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def convolution(j: Any, name: str) -> Any:
    _, _, strides, padding, options = CONVOLUTIONS[name]
    return lambda x, w: j.lax.conv_general_dilated(x, w, strides, padding, **options)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution_and_derivatives(name: str) -> None:
    x, w = normal(CONVOLUTIONS[name][0]), normal(CONVOLUTIONS[name][1], 1)

    def all_of(j: Any) -> Any:
        f = convolution(j, name)

        def run(x: Any, w: Any) -> Any:
            out, vjp = j.vjp(f, x, w)
            ct = out + 1
            tangent = j.jvp(f, (x, w), (x * x, w + 1))[1]

            def second(x: Any, w: Any) -> Any:
                dx, dw = j.vjp(f, x, w)[1](ct)
                return j.numpy.mean(dx**2) + j.numpy.mean(dw * w)

            return out, vjp(ct), tangent, j.grad(second, (0, 1))(x, w) if x.size else ()

        return run

    theirs = all_of(jax)(x, w)
    close(jaxlite.jit(all_of(jaxlite))(x, w), theirs, 2e-3)
    close(convolution(jaxlite, name)(x, w), theirs[0])


@pytest.mark.parametrize("axes", [(1, 2), (2, None), (None, 1)])
@pytest.mark.parametrize("name", ["holes", "groups", "batch groups", "odd axes", "0d"])
def test_batches_of_convolutions(name: str, axes: tuple[Any, Any]) -> None:
    operands = []
    for k, dim in enumerate(axes):
        shape = CONVOLUTIONS[name][k]
        many = np.stack([normal(shape, seed) for seed in range(3)])
        operands.append(normal(shape, 7) if dim is None else np.moveaxis(many, 0, dim))
    theirs = jax.vmap(convolution(jax, name), axes)(*operands)
    close(jaxlite.jit(jaxlite.vmap(convolution(jaxlite, name), axes))(*operands), theirs)


@pytest.mark.parametrize(
    ("dtype", "preferred"),
    [
        ("int8", "int32"), ("int32", None), ("bool", None), ("float16", "float32"),
        ("bfloat16", None), ("complex64", None),
    ],
)  # fmt: skip
def test_dtypes(dtype: str, preferred: str | None) -> None:
    x = np.arange(2 * 3 * 5 * 4).reshape(2, 3, 5, 4) % 3

    def run(j: Any) -> Any:
        a = j.numpy.asarray(x, dtype)
        return j.lax.conv(a, a[:, :, :2, :3], (1, 1), "SAME", preferred_element_type=preferred)

    close(run(jaxlite), run(jax))
    close(jaxlite.jit(lambda: run(jaxlite))(), run(jax))


OTHERS: dict[str, Any] = {
    "general padding": lambda j: j.lax.conv_with_general_padding(
        normal((1, 2, 4, 5)), normal((3, 2, 2, 2)), (1, 2), [(1, 0), (0, 2)], (2, 1), None
    ),
    "transpose": lambda j: j.lax.conv_transpose(
        normal((2, 4, 5, 3)), normal((3, 2, 3, 4)), (2, 3), "SAME", rhs_dilation=(2, 1)
    ),
    "transpose valid": lambda j: j.lax.conv_transpose(
        normal((2, 4, 5, 3)), normal((3, 2, 4, 3)), (2, 1), "VALID", transpose_kernel=True
    ),
    "transpose pads": lambda j: j.lax.conv_transpose(
        normal((2, 3, 4, 5)), normal((4, 3, 3, 2)), (2, 2), [(1, 1), (0, 1)],
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
    ),
    "transpose consistent": lambda j: j.lax.conv_transpose(
        normal((2, 6, 3)), normal((3, 3, 4)), (2,), [(1, 0)], use_consistent_padding=True
    ),
    "patches": lambda j: j.lax.conv_general_dilated_patches(
        normal((2, 3, 5, 4)), (3, 2), (1, 2), [(1, 0), (0, 1)]
    ),
    "patches last": lambda j: j.lax.conv_general_dilated_patches(
        normal((2, 5, 4, 3)), (3, 2), (1, 1), "SAME", dimension_numbers=NHWC
    ),
    "local": lambda j: j.lax.conv_general_dilated_local(
        normal((2, 3, 5, 4)), normal((4, 18, 3, 3)), (1, 1), "VALID", (3, 2)
    ),
    "local last": lambda j: j.lax.conv_general_dilated_local(
        normal((2, 5, 4, 3)), normal((3, 3, 18, 4)), (1, 1), "VALID", (3, 2),
        dimension_numbers=NHWC,
    ),
    "pads": lambda j: np.array(j.lax.padtype_to_pads((8, 7), (3, 4), (2, 3), "SAME_LOWER")),
    "shape": lambda j: np.array(j.lax.conv_shape_tuple((2, 3, 8), (4, 3, 3), (2,), ((0, 1),))),
    "transposed shape": lambda j: np.array(
        j.lax.conv_transpose_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), "VALID", NHWC)
    ),
    "general shape": lambda j: np.array(
        j.lax.conv_general_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), "VALID", NHWC)
    ),
    "window shape": lambda j: np.array(
        j.lax.reduce_window_shape_tuple((2, 8), (1, 3), (1, 2), ((0, 0), (1, 1)), None, (1, 2))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_other_forms(name: str) -> None:
    close(OTHERS[name](jaxlite), OTHERS[name](jax))


X, W = np.ones((2, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)


def one(j: Any, x: Any = X, w: Any = W, strides: Any = (1, 1), pads: Any = "SAME", **o: Any) -> Any:
    return j.lax.conv_general_dilated(x, w, strides, pads, **o)


BAD: dict[str, Any] = {
    "rank": lambda j: one(j, X[0]),
    "features": lambda j: one(j, X[:, :2]),
    "dtype": lambda j: one(j, w=W.astype(np.float16)),
    "strides": lambda j: one(j, strides=(1,)),
    "word": lambda j: one(j, pads="FOO"),
    "pairs": lambda j: one(j, pads=[(1, 1)]),
    "no pairs": lambda j: one(j, pads=[1, 1]),
    "groups": lambda j: one(j, feature_group_count=2),
    "no groups": lambda j: one(j, feature_group_count=0),
    "no batch groups": lambda j: one(j, batch_group_count=0),
    "batch groups": lambda j: one(j, batch_group_count=3),
    "outputs": lambda j: one(j, w=W[:3], batch_group_count=2),
    "hole": lambda j: one(j, rhs_dilation=(0, 1)),
    "word and hole": lambda j: one(j, lhs_dilation=(2, 1)),
    "names": lambda j: one(j, dimension_numbers=("NCHW", "OIHX", "NCHW")),
    "short names": lambda j: one(j, dimension_numbers=("NCHW", "OIHW", "NCH")),
    "two names": lambda j: one(j, dimension_numbers=("NCHW", "OIHW")),
    "twice": lambda j: one(j, dimension_numbers=("NCHH", "OIHW", "NCHW")),
    "no N": lambda j: one(j, dimension_numbers=("XCHW", "OIHW", "NCHW")),
    "number": lambda j: one(j, dimension_numbers=5),
    "preferred": lambda j: one(j, preferred_element_type=np.int32),
    "narrow": lambda j: one(j, preferred_element_type=np.float16),
    "window rank": lambda j: j.lax.reduce_window(X, 0.0, j.lax.add, (2, 2), (1, 1), "VALID"),
    "window strides": lambda j: j.lax.reduce_window(X, 0.0, j.lax.add, (1, 1, 2, 2), (1, 1)),
    "window 0": lambda j: j.lax.reduce_window(X, 0.0, j.lax.add, (1, 1, 0, 2)),
    "window init": lambda j: j.lax.reduce_window(
        X, np.zeros(2, np.float32), j.lax.add, (1, 1, 2, 2)
    ),
    "window word": lambda j: j.lax.reduce_window(X, 0.0, j.lax.add, (1, 1, 2, 2), padding="FOO"),
    "window nothing": lambda j: j.lax.reduce_window((), (), j.lax.add, (1,)),
    "window trees": lambda j: j.lax.reduce_window((X, X), (0.0,), j.lax.add, (1, 1, 2, 2)),
}


@pytest.mark.parametrize("name", BAD)
def test_messages(name: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError)) as theirs:
        BAD[name](jax)
    with pytest.raises(theirs.type) as ours:
        BAD[name](jaxlite)
    assert str(ours.value).partition("\n")[0] == str(theirs.value).partition("\n")[0]


# --- windows ---

WINDOWS: dict[str, tuple[Any, Any, Any, Any, dict[str, Any]]] = {
    "valid": ((6, 7), (2, 3), None, "VALID", {}),
    "same": ((6, 7), (2, 3), (2, 2), "SAME", {}),
    "holes": (
        (6, 7), (2, 3), (1, 2), [(1, 0), (2, 3)],
        {"base_dilation": (2, 1), "window_dilation": (1, 2)},
    ),
    "pooling": ((2, 3, 8, 8), (1, 1, 2, 2), (1, 1, 2, 2), "VALID", {}),
    "lower": ((7,), (3,), (1,), "SAME_LOWER", {}),
    "cut": ((7,), (3,), (2,), [(-1, 2)], {}),
    "empty": ((0, 3), (1, 2), None, "VALID", {}),
    "none fits": ((2,), (3,), None, "VALID", {}),
}  # fmt: skip
COMBINERS: dict[str, tuple[Any, float]] = {
    "add": (lambda j: j.lax.add, 0.0),
    "max": (lambda j: j.lax.max, -np.inf),
    "min": (lambda j: j.lax.min, np.inf),
    "mul": (lambda j: j.lax.mul, 1.0),
    "add from 1": (lambda j: j.lax.add, 1.0),
    "own": (lambda j: lambda a, b: a * b + a + b, 0.0),
}


def window_function(j: Any, name: str, combiner: str) -> Any:
    _, window, strides, padding, options = WINDOWS[name]
    make, init = COMBINERS[combiner]
    return lambda x: j.lax.reduce_window(x, init, make(j), window, strides, padding, **options)


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str, combiner: str) -> None:
    x = normal(WINDOWS[name][0])
    f, g = (window_function(j, name, combiner) for j in (jaxlite, jax))
    theirs = g(x)
    close(f(x), theirs)
    close(jaxlite.jit(f)(x), theirs)
    close(jaxlite.jit(jaxlite.vmap(f))(np.stack([x, x + 1])), np.stack([theirs, g(x + 1)]))
    if combiner in ("add", "max", "min") and x.size and theirs.size:
        close(jaxlite.jit(lambda x: jaxlite.jvp(f, (x,), (x * x,)))(x), jax.jvp(g, (x,), (x * x,)))
        ct = normal(theirs.shape, 3)
        # JAX has no reverse mode for some of these; its forward mode gives the same numbers.
        expected = np.tensordot(ct, np.asarray(jax.jacfwd(g)(x)), ct.ndim)
        close(jaxlite.jit(lambda x: jaxlite.vjp(f, x)[1](ct)[0])(x), expected)


def test_windows_of_trees_and_second_derivatives() -> None:
    def trees(j: Any) -> Any:
        return j.lax.reduce_window(
            (X, 2 * X), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1, 1, 2, 2)
        )

    close(trees(jaxlite), trees(jax))
    x = normal((4, 6))

    def second(j: Any) -> Any:
        def pooled(x: Any) -> Any:
            return (j.lax.reduce_window(x**3, -np.inf, j.lax.max, (2, 2), (2, 2)) ** 2).sum()

        return j.hessian(pooled)(x)

    close(jaxlite.jit(lambda: second(jaxlite))(), second(jax), 2e-3)


def test_equal_elements_and_nan() -> None:
    x = np.float32([[1, 1, 2, 2], [1, 1, 2, np.nan]])

    def run(j: Any) -> Any:
        def pooled(x: Any) -> Any:
            return j.lax.reduce_window(x, -np.inf, j.lax.max, (2, 2), (2, 2))

        return pooled(x), j.grad(lambda x: pooled(x)[0, 0])(x)

    close(run(jaxlite), run(jax))


def test_jaxprs_read_as_jax_prints_them() -> None:
    def network(j: Any) -> Any:
        def loss(w: Any, x: Any) -> Any:
            hidden = j.lax.conv(x, w, (1, 1), "SAME")
            return j.lax.reduce_window(
                hidden, -np.inf, j.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
            ).sum()

        return str(j.make_jaxpr(j.grad(loss))(W, X))

    assert network(jaxlite) == network(jax)
