"""Transcendental functions: at most 4 ulp from float64, and C's results at special values."""

import math
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from jaxlite.compiler.llvm_math import MATH_UNARY
from jaxlite.kernel_ir import nodes as ir
from tests.compiler.kernel_tools import (
    BF16,
    F16,
    F32,
    F64,
    ULPS,
    I,
    loop_program,
    run_native,
    values_of,
    with_width,
)

N = 1003
NUMPY_NAMES = {
    **{op: "arc" + op[1:] for op in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "pow": "power",
    "atan2": "arctan2",
}


def lgamma(x: float) -> float:
    return math.inf if x <= 0 and x % 1 == 0 else math.lgamma(x)


#: NumPy does not have these.
FLOAT64 = {
    "erf": np.vectorize(math.erf),
    "erfc": np.vectorize(math.erfc),
    "lgamma": np.vectorize(lgamma),
}


def exact(op: str, *args: Any) -> Any:
    """The function in extended precision where NumPy has it, else in float64."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if op in FLOAT64:
            return FLOAT64[op](*(a.astype(np.float64) for a in args))
        wide = [a.astype(np.longdouble) for a in args]
        return getattr(np, NUMPY_NAMES.get(op, op))(*wide)


def error_ulps(native: Any, expected: Any) -> Any:
    dtype = native.dtype
    info = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        rounded = expected.astype(np.float64).astype(dtype)
        same = (native == rounded) | (np.isnan(native) & np.isnan(rounded))
        unit = np.maximum(np.abs(expected), float(info.smallest_normal)) * float(info.eps)
        error = np.abs(native.astype(np.longdouble) - expected) / unit
        return np.where(same, 0, np.where(np.isnan(error), np.inf, error)).astype(np.float64)


def sample(dtype: np.dtype[Any], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    n = N // 4
    parts = [
        values_of(dtype, N - 3 * n, seed),
        rng.uniform(-10, 10, n),
        rng.uniform(-1, 1, n),
        rng.standard_normal(n) * np.exp(rng.uniform(-20, 20, n)),
    ]
    with np.errstate(all="ignore"):
        return np.concatenate([p.astype(dtype) for p in parts])


def check(op: str, dtype: np.dtype[Any], bits: int, libmvec: bool, n_args: int = 1) -> None:
    loads = [ir.load(f"x{k}", I, dtype) for k in range(n_args)]
    e = ir.unary(op, loads[0]) if n_args == 1 else ir.binary(op, *loads)
    ins = {f"x{k}": (dtype, N) for k in range(n_args)}
    program = loop_program(N, ins, {"y": (dtype, N)}, (ir.Store("y", I, e),), name=op)
    args = [sample(dtype, k) for k in range(n_args)]
    (native,) = run_native(program, args, with_width(bits, libmvec))
    errors = error_ulps(native, exact(op, *args))
    worst = int(np.argmax(errors))
    # Python's own lgamma is not better than this near its zeros.
    allowed = 1e5 if op == "lgamma" and dtype == F64 else ULPS
    assert errors[worst] <= allowed, (op, [a[worst] for a in args], native[worst], errors[worst])


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("op", sorted(MATH_UNARY))
def test_functions_of_one_argument(op: str, bits: int) -> None:
    for dtype in (F32, F64):
        check(op, dtype, bits, libmvec=True)


@pytest.mark.parametrize("op", sorted(MATH_UNARY))
def test_without_libmvec(op: str) -> None:
    for dtype in (F32, F64):
        check(op, dtype, 512, libmvec=False)


@pytest.mark.parametrize("op", ["exp", "log", "sin", "tanh", "erf"])
def test_16_bit_floats_are_computed_wider(op: str) -> None:
    for dtype in (F16, BF16):
        check(op, dtype, 512, libmvec=True)


@pytest.mark.parametrize("op", ["pow", "atan2"])
def test_functions_of_two_arguments(op: str) -> None:
    for dtype in (F32, F64):
        for libmvec in (True, False):
            check(op, dtype, 512, libmvec, n_args=2)


@pytest.mark.parametrize(
    ("op", "x", "y"),
    [
        ("exp", [-np.inf, np.inf, 1000, -1000], [0, np.inf, np.inf, 0]),
        ("log", [0, -0.0, -1, np.inf, -np.inf], [-np.inf, -np.inf, np.nan, np.inf, np.nan]),
        ("log1p", [-1, -2, 0, -0.0, np.inf], [-np.inf, np.nan, 0, -0.0, np.inf]),
        ("tanh", [np.inf, -np.inf, -0.0], [1, -1, -0.0]),
        ("sin", [np.inf, -0.0], [np.nan, -0.0]),
        ("atanh", [1, -1, 2], [np.inf, -np.inf, np.nan]),
        ("erf", [np.inf, -np.inf, -0.0], [1, -1, -0.0]),
        ("lgamma", [0, -1, 1, 2, np.inf], [np.inf, np.inf, 0, 0, np.inf]),
        ("cbrt", [-8, -0.0, np.inf], [-2, -0.0, np.inf]),
    ],
)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_special_values(op: str, x: list[float], y: list[float], dtype: np.dtype[Any]) -> None:
    for repeat in (1, 16):  # scalars of libm and vectors of libmvec
        values = np.repeat(np.array([*x, np.nan], dtype), repeat)
        expected = np.repeat(np.array([*y, np.nan], dtype), repeat)
        n = len(values)
        body = (ir.Store("y", I, ir.unary(op, ir.load("x", I, dtype))),)
        (native,) = run_native(
            loop_program(n, {"x": (dtype, n)}, {"y": (dtype, n)}, body), [values]
        )
        np.testing.assert_array_equal(native, expected)
        signs = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(native[signs]), np.signbit(expected[signs]))


@pytest.mark.parametrize("bits", [256, 512])
@pytest.mark.parametrize(
    ("op", "values"),
    [
        ("exp", [-87.3, -87.4, -95.0, -103.2, -103.98, -104.1, 88.72, 88.73, 89.5, 3e38, 1e-40]),
        ("log", [1e-45, 1e-40, 1.1754944e-38, 0.70710677, 0.7071068, 1.4142135, 3.4e38, 1.0]),
        ("tanh", [1e-45, 1e-20, 0.62499994, 0.625, 9.0, 9.1, 50.0, 3e38, -0.625, -1e-40]),
    ],
)
def test_inline_functions_at_their_seams(op: str, values: list[float], bits: int) -> None:
    x = np.resize(np.array(values, F32), 64)
    body = (ir.Store("y", I, ir.unary(op, ir.load("x", I, F32))),)
    program = loop_program(64, {"x": (F32, 64)}, {"y": (F32, 64)}, body)
    (native,) = run_native(program, [x], with_width(bits))
    assert error_ulps(native, exact(op, x)).max() <= 2
