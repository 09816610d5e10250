"""Products and elementary functions with the bits of JAX's CPU kernels, eager and compiled."""

from fractions import Fraction

import jax
import numpy as np
import pytest

import jaxlite as jl
from jaxlite.primitives import single_rounding as sr
from jaxlite.primitives.special import eigen_erf
from tests.random.oracle import full_jax

_random = np.random.default_rng(0)
SPECIAL = np.float32(
    [0, -0.0, np.inf, -np.inf, np.nan, -1, 1, -2, 2, 3e38, 1.17549435e-38, 0.41421357]
)


def spread(low: float, high: float, n: int = 20_011) -> np.ndarray:
    """Numbers of every size between the ends, and the special ones."""
    return np.concatenate([_random.uniform(low, high, n).astype(np.float32), SPECIAL])


CASES = {
    "log": (sr.cephes_log, np.abs(spread(0, 4))),
    "log of all sizes": (sr.cephes_log, np.exp(spread(-80, 80).clip(-80, 80))),
    "log1p": (sr.cephes_log1p, spread(-1, 3)),
    "log1p of small": (sr.cephes_log1p, spread(-1e-3, 1e-3)),
    "exp": (sr.cephes_exp, spread(-90, 90)),
    "erf": (eigen_erf, spread(-5, 5)),
    # Without the least normal number, whose result the oracle flushes to 0.
    "erf_inv": (jl.lax.erf_inv, np.delete(spread(-1, 1), -2)),
}


@pytest.mark.jax_oracle
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_bits_are_those_of_jax(case, compiled):
    function, x = CASES[case]
    with full_jax():
        theirs = np.asarray(getattr(jax.lax, case.split()[0])(x))
    ours = np.asarray((jl.jit(function) if compiled else function)(jl.numpy.asarray(x)))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("compiled", [False, True])
def test_fma_rounds_once(compiled):
    fma = jl.jit(sr.fma) if compiled else sr.fma
    x, y = _random.standard_normal((2, 1000))
    # The sum cancels all but the rounding error of the product.
    z = -(x * y) * (1 + _random.standard_normal(1000) * 1e-6)
    for dtype in (np.float32, np.float64):
        operands = [v.astype(dtype) for v in (x, y, z)]
        exact = [
            float(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))
            for a, b, c in zip(*operands)
        ]
        with jl.enable_x64(True):
            out = np.asarray(fma(*map(jl.numpy.asarray, operands)))
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, np.asarray(exact, dtype))


def test_fma_of_half_precision_rounds_twice_as_jax_does():
    x = np.float16([1.001, 3.3])
    out = sr.fma(*(jl.numpy.asarray(x) for _ in range(3)))
    np.testing.assert_array_equal(np.asarray(out), x * x + x)


def test_derivatives_are_those_of_the_plain_functions():
    assert float(jl.grad(lambda x: sr.fma(x, x, x))(3.0)) == 7.0
    assert float(jl.grad(sr.cephes_log)(2.0)) == 0.5
    assert float(jl.grad(sr.cephes_log1p)(1.0)) == 0.5
    assert float(jl.grad(sr.cephes_exp)(0.0)) == 1.0
    assert float(jl.grad(eigen_erf)(0.0)) == pytest.approx(2 / np.sqrt(np.pi))
