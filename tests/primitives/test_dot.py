"""dot_general agrees with JAX for random axes and every pair of dtypes."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from jaxlite.primitives import dot
from jaxlite.transforms.stage_out import stage_out
from tests.primitives.against_jax import (
    Case,
    check,
    check_jit,
    check_types,
    check_values,
    check_vjp,
    data_of,
    to_ours,
)

pytestmark = pytest.mark.jax_oracle
RNG = np.random.default_rng(3)
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "bfloat16",
    "float16",
    "float32",
    "complex64",
]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def error_of(call) -> str:
    """First line of the oracle's error, or nothing."""
    try:
        call()
    except (TypeError, ValueError) as error:
        return str(error).split("\n")[0]
    return ""


def random_axes(seed: int):
    """Shapes of lhs and rhs, and dimension numbers that fit them."""
    rng = np.random.default_rng(seed)
    n_batch, n_contracting, n_lhs, n_rhs = rng.integers(0, 3, 4)
    shared = rng.integers(1, 5, n_batch + n_contracting)
    lhs = [(int(n), k) for k, n in enumerate(shared)]
    rhs = list(lhs)
    lhs += [(int(n), -1) for n in rng.integers(1, 5, n_lhs)]
    rhs += [(int(n), -1) for n in rng.integers(1, 5, n_rhs)]
    lhs = [lhs[k] for k in rng.permutation(len(lhs))]
    rhs = [rhs[k] for k in rng.permutation(len(rhs))]

    def place(axes, which):
        return tuple(next(d for d, (_, k) in enumerate(axes) if k == w) for w in which)

    batch, contracting = range(n_batch), range(n_batch, n_batch + n_contracting)
    numbers = (
        (place(lhs, contracting), place(rhs, contracting)),
        (place(lhs, batch), place(rhs, batch)),
    )
    return [n for n, _ in lhs], [n for n, _ in rhs], numbers


def case_of(lhs, rhs, numbers, **params) -> Case:
    return Case(
        lambda x, y: dot.dot_general(x, y, numbers, **params),
        lambda x, y: lax.dot_general(x, y, numbers, **params),
        [lhs, rhs],
        exact=False,
    )


def normal(shape) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("seed", range(8))
def test_random_axes(seed):
    lhs, rhs, numbers = random_axes(seed)
    check(case_of(normal(lhs), normal(rhs), numbers))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_random_axes(seed):
    lhs, rhs, numbers = random_axes(seed)
    check(case_of(normal(lhs), normal(rhs), numbers))


MATMUL = (((1,), (0,)), ((), ()))


def values(name: str, shape) -> np.ndarray:
    low = 0 if name.startswith(("u", "b")) and name != "bfloat16" else -4
    return RNG.integers(low, 5, shape).astype(dtype_of(name))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("rhs_name", ["same", "bfloat16"])
def test_operand_dtypes(name, rhs_name):
    rhs_name = name if rhs_name == "same" else rhs_name
    case = case_of(values(name, (3, 5)), values(rhs_name, (5, 4)), MATMUL)
    check_values(case)
    check_types(case)


def test_result_dtype_of_every_pair():
    for a in DTYPES:
        for b in DTYPES:
            theirs = jax.eval_shape(
                lambda x, y: lax.dot_general(x, y, MATMUL),
                jax.ShapeDtypeStruct((2, 3), dtype_of(a)),
                jax.ShapeDtypeStruct((3, 2), dtype_of(b)),
            )
            assert dot.result_dtype(dtype_of(a), dtype_of(b), None) == theirs.dtype, (a, b)


@pytest.mark.parametrize("name", ["bool", "int16", "float16", "float32", "complex64"])
def test_preferred_element_types(name):
    for wanted in DTYPES:
        preferred = dtype_of(wanted)
        case = case_of(
            values(name, (2, 5)), values(name, (5, 2)), MATMUL, preferred_element_type=preferred
        )
        message = error_of(lambda case=case: jax.eval_shape(case.theirs, *case.args))
        if message:
            assert "must not be narrower than the original type" in message
            with pytest.raises(TypeError, match="must not be narrower than the original type"):
                case.ours(*map(to_ours, case.args))
            continue
        if wanted in ("int32", "float32", "bool", "complex64", name):
            check_values(case)


@pytest.mark.parametrize(
    ("name", "other", "preferred"),
    [
        ("float32", "float32", "int32"),
        ("float32", "float32", "bool"),
        ("complex64", "complex64", "float32"),
        ("int8", "int8", "int32"),
        ("int32", "float16", None),
        ("uint8", "int8", None),
        ("bool", "bool", None),
        ("bfloat16", "bfloat16", "float32"),
    ],
)
def test_compiled_types(name, other, preferred):
    x = (RNG.normal(size=(3, 6)) * 40).astype(dtype_of(name))
    y = (RNG.normal(size=(6, 3)) * 40).astype(dtype_of(other))
    if name == "complex64":
        x *= 1 - 2j
        y *= 3 + 1j
    wanted = None if preferred is None else dtype_of(preferred)
    check_jit(case_of(x, y, MATMUL, preferred_element_type=wanted))


def test_fractions_are_dropped_after_the_sum():
    halves = np.array([[0.5, 0.5]], np.float32)
    ones = np.ones((2, 1), np.int32)
    check_values(
        case_of(halves, ones.astype(np.float32), MATMUL, preferred_element_type=np.dtype("int32"))
    )
    check_values(case_of(halves, ones, MATMUL))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_sums_in_float32(name):
    x = np.ones((1, 5000), dtype_of(name))
    out = dot.dot_general(to_ours(x), to_ours(x.T.copy()), MATMUL)
    assert data_of(out).astype(np.float32).item() == np.float32(5000).astype(dtype_of(name))


@pytest.mark.parametrize("name", ["int8", "int32", "uint32"])
def test_integers_wrap_around(name):
    info = np.iinfo(name)
    x = RNG.integers(info.min, info.max, (6, 7), dtype=name, endpoint=True)
    y = RNG.integers(info.min, info.max, (7, 6), dtype=name, endpoint=True)
    check_values(case_of(x, y, MATMUL))


def test_transpose_gives_the_operand_dtype():
    x, y = normal((3, 5)).astype(np.float16), normal((5, 4))
    check_vjp(case_of(x, y, MATMUL))
    check_vjp(case_of(x, y.astype(np.float16), MATMUL, preferred_element_type=np.dtype("float32")))


def test_complex_transpose_does_not_conjugate():
    x = (normal((3, 5)) + 1j * normal((3, 5))).astype(np.complex64)
    y = (normal((5, 4)) + 1j * normal((5, 4))).astype(np.complex64)
    check(case_of(x, y, MATMUL))


def test_empty_contraction_gives_zeros():
    check(case_of(normal((3, 0)), normal((0, 4)), MATMUL))


def test_batch_dim_becomes_a_free_axis_without_a_transpose():
    x, y = to_ours(normal((7, 3, 5))), to_ours(normal((5, 4)))
    out, dim = None, None

    def f(x, y):
        nonlocal dim
        out, dim = dot.dot_general_p.batch(
            (x, y),
            (0, None),
            dimension_numbers=MATMUL,
            precision=None,
            preferred_element_type=None,
            out_sharding=None,
        )
        return (out,)

    closed = stage_out(f, [x.aval, y.aval])
    assert [eqn.primitive.name for eqn in closed.eqns] == ["dot_general"]
    assert dim == 0
    assert out is None


@pytest.mark.parametrize(
    "precision", [None, "high", "HIGHEST", "fastest", ("default", "float32"), "wrong", 3, ("high",)]
)
def test_precisions_have_jax_names(precision):
    if isinstance(precision, str) and precision.isupper():
        precision = dot.Precision[precision]
        theirs = lax.Precision[precision.name]
    else:
        theirs = precision

    def trace():
        f = jax.make_jaxpr(lambda x, y: lax.dot_general(x, y, MATMUL, precision=theirs))
        return f(normal((2, 3)), normal((3, 2))).eqns[0].params["precision"]

    message = error_of(trace)
    if message:
        assert message == "Precision argument must be one of:"
        with pytest.raises(ValueError, match=message):
            dot.canonical_precision(precision)
    else:
        assert str(dot.canonical_precision(precision)) == str(trace())
