"""``scipy.stats`` against JAX: values, dtypes and derivatives; eager, jitted and mapped."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.scipy.stats
import numpy as np
import pytest
import scipy.stats

import jaxlite
import jaxlite.numpy as jnp
import jaxlite.scipy.stats as ours

pytestmark = pytest.mark.jax_oracle
theirs = jax.scipy.stats

X = np.array([-0.7, 0.0, 0.3, 0.9, 1.4], np.float32)
Q = np.array([0.05, 0.3, 0.5, 0.7, 0.95], np.float32)
K = np.array([-1, 0, 1, 2, 3], np.float32)
S = np.float32(1.3)
#: Distribution -> its arguments up to ``loc``.
CALLS: dict[str, tuple[Any, ...]] = {
    "norm": (X,), "cauchy": (X,), "gumbel_l": (X,), "gumbel_r": (X,), "laplace": (X,),
    "logistic": (X,), "uniform": (X,), "expon": (X,), "gamma": (X, S), "chi2": (X, S),
    "beta": (X, S, S + 1), "pareto": (X + 1, S), "t": (X, S), "gennorm": (X, S),
    "vonmises": (X, S), "wrapcauchy": (X, Q), "truncnorm": (X, -S, S), "bernoulli": (K, Q),
    "binom": (K, np.float32(3), Q), "betabinom": (K, np.float32(3), S, S), "geom": (K, Q),
    "nbinom": (K, S, Q), "poisson": (K, S),
}  # fmt: skip
#: These count, so that slopes by their first argument say nothing.
DISCRETE = {"bernoulli", "binom", "betabinom", "geom", "nbinom", "poisson"}


def given(name: str, function: str, kinds: Any) -> tuple[Any, ...]:
    """Return sample arguments of a function of a distribution."""
    args = CALLS[name]
    if function in ("ppf", "isf"):
        args = (Q, *args[1:])
    if function == "entropy":
        args = args[1:]
    return (*args, np.float32(0.2), S) if "scale" in kinds else args


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_distributions() -> None:
    names = []
    for name in CALLS:
        mine, others = getattr(ours, name), getattr(theirs, name)
        public = [n for n in others.__dict__ if not n.startswith("_")]
        assert set(mine.__all__) <= set(public)
        for function in mine.__all__:
            kinds = list(inspect.signature(getattr(others, function)).parameters)
            assert list(inspect.signature(getattr(mine, function)).parameters) == kinds
            names.append((name, function, given(name, function, kinds)))

    def every(arguments: Any) -> list[Any]:
        pairs = zip(names, arguments, strict=True)
        return [getattr(getattr(ours, n), f)(*args) for (n, f, _), args in pairs]

    found = jaxlite.jit(every)([args for _, _, args in names])
    for (name, function, args), a in zip(names, found, strict=True):
        with np.errstate(all="ignore"):
            expected = getattr(getattr(scipy.stats, name), function)(*map(np.float64, args))
        assert (a.dtype, a.shape) == (np.float32, np.shape(expected))
        np.testing.assert_allclose(
            np.asarray(a), expected, rtol=5e-4, atol=5e-5, err_msg=f"{name}.{function}"
        )


def test_slopes_of_densities() -> None:
    arguments = {n: a for n, a in CALLS.items() if n not in DISCRETE}
    for name in ("beta", "gamma", "chi2", "expon", "uniform", "pareto"):
        arguments[name] = (Q + (name == "pareto"), *arguments[name][1:])

    def slopes(j: Any, m: Any) -> Any:
        def one(name: str, args: Any) -> Any:
            f = getattr(m, name).logpdf
            return j.grad(lambda *xs: f(*xs).sum(), tuple(range(len(args))))(*args)

        return j.jit(lambda given: {n: one(n, a) for n, a in given.items()})(arguments)

    found, expected = slopes(jaxlite, ours), slopes(jax, theirs)
    for name, wanted in expected.items():
        for a, b in zip(found[name], wanted, strict=True):
            np.testing.assert_allclose(
                np.asarray(a), np.asarray(b), rtol=2e-3, atol=2e-4, err_msg=name
            )


def test_mapped_and_eager_are_jitted() -> None:
    for f in (ours.norm.cdf, ours.truncnorm.logcdf, ours.beta.pdf):
        args = (Q, Q - 1, Q + 1) if f is not ours.norm.cdf else (Q,)
        expected = np.asarray(jaxlite.jit(f)(*args))
        np.testing.assert_allclose(np.asarray(f(*args)), expected, rtol=1e-5)
        np.testing.assert_allclose(np.asarray(jaxlite.vmap(f)(*args)), expected, rtol=1e-5)


def test_vectors_and_counts() -> None:
    mean, cov = np.float32([1, 2]), np.float32([[2, 0.5], [0.5, 1]])
    points = np.float32([[0.5, 1.5], [1, 2], [3, 0]])
    chances, counts = np.float32([0.2, 0.3, 0.5]), np.float32([1, 2, 3])
    cases: list[tuple[str, str, tuple[Any, ...]]] = [
        ("multivariate_normal", "logpdf", (points, mean, cov)),
        ("multivariate_normal", "pdf", (points, np.float32(1), np.float32(2))),
        ("dirichlet", "logpdf", (chances, counts)),
        ("dirichlet", "pdf", (chances[:2], counts)),
        ("dirichlet", "logpdf", (2 * chances, counts)),
        ("multinomial", "logpmf", (counts.astype(np.int32), np.int32(6), chances)),
        ("multinomial", "pmf", (counts.astype(np.int32), np.int32(5), chances)),
    ]
    for name, function, args in cases:
        a = getattr(getattr(ours, name), function)(*args)
        b = getattr(getattr(theirs, name), function)(*args)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4)
    mapped = jaxlite.vmap(ours.multivariate_normal.logpdf, (0, None, None))(points, mean, cov)
    expected = theirs.multivariate_normal.logpdf(points, mean, cov)
    np.testing.assert_allclose(np.asarray(mapped), np.asarray(expected), rtol=1e-4)
    for bad in ((points, mean), (chances, np.float32([1, 2, 3, 4, 5]))):
        with pytest.raises(ValueError, match=r"`alpha` must|`x` must"):
            ours.dirichlet.logpdf(*bad)


def test_statistics_of_samples() -> None:
    x = np.float32([[3, 1, 3, 2], [1, 1, 2, 3], [3, 2, 2, 0]])
    n = x.astype(np.int32)
    with_nan = x.copy()
    with_nan[1, 2] = np.nan
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        *(("mode", (n,), {"axis": k, "keepdims": d}) for k, d in ((1, False), (None, True))),
        *(("rankdata", (n, m), {}) for m in ("average", "min", "max", "dense", "ordinal")),
        ("rankdata", (x,), {"axis": 1}), ("rankdata", (with_nan,), {}),
        ("sem", (x,), {"axis": 1}), ("sem", (n,), {"ddof": 0}),
        ("sem", (with_nan,), {"axis": None, "nan_policy": "omit", "keepdims": True}),
    ]  # fmt: skip
    for name, args, keywords in calls:
        a, b = getattr(ours, name)(*args, **keywords), getattr(theirs, name)(*args, **keywords)
        for found, expected in zip(*(v if isinstance(v, tuple) else (v,) for v in (a, b))):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (name, keywords)
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5)


def test_kernel_density() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2, 20)).astype(np.float32)
    weights = rng.uniform(0.5, 1, 20).astype(np.float32)
    where = rng.normal(size=(2, 5)).astype(np.float32)
    a, b = ours.gaussian_kde(points, weights=weights), theirs.gaussian_kde(points, weights=weights)
    other, others = ours.gaussian_kde(points + 1, 0.5), theirs.gaussian_kde(points + 1, 0.5)
    line, lines = (
        ours.gaussian_kde(points[0], "silverman"),
        theirs.gaussian_kde(points[0], "silverman"),
    )
    mean, cov = np.float32([0.2, 0.1]), np.eye(2, dtype=np.float32)
    pairs = [
        (a.evaluate(where), b.evaluate(where)), (a.logpdf(where), b.logpdf(where)),
        (a.covariance, b.covariance), (a.neff, b.neff),
        (a.integrate_gaussian(mean, cov), b.integrate_gaussian(mean, cov)),
        (a.integrate_kde(other), b.integrate_kde(others)),
        (line.integrate_box_1d(-0.5, 1.0), lines.integrate_box_1d(-0.5, 1.0)),
        (jaxlite.jit(lambda k, x: k(x))(a, where), b(where)),
    ]  # fmt: skip
    for found, expected in pairs:
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-4)
    drawn = a.resample(jaxlite.random.key(0), (5,))
    np.testing.assert_allclose(
        np.asarray(drawn), np.asarray(b.resample(jax.random.key(0), (5,))), rtol=1e-4, atol=1e-5
    )
    with pytest.raises(ValueError, match="multiple elements"):
        ours.gaussian_kde(jnp.ones(1))
    with pytest.raises(NotImplementedError):
        a.set_bandwidth()
    with pytest.raises(ValueError, match="1D pdfs"):
        a.integrate_box_1d(0, 1)
