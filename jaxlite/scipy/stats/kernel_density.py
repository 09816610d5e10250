"""Densities estimated from points: the mean of normal distributions around them."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import numpy as jnp
from jaxlite import random
from jaxlite.api.vmap import vmap
from jaxlite.language.array import Value
from jaxlite.language.pytree import register_pytree_node_class
from jaxlite.lax import linalg as lax_linalg
from jaxlite.numpy.promotion import check_arraylike, promote_all_inexact
from jaxlite.scipy import special

__all__ = ["gaussian_kde"]


@register_pytree_node_class
class gaussian_kde:
    """The density estimated from points, each with a normal distribution around it.

    Args:
        dataset: ``T[d, n]``, or ``T[n]`` for one dimension.
        bw_method: "scott" (None) or "silverman", a number, or a function of the estimate: the
            width in standard deviations of the points.
        weights: of the points, ``T[n]``; None takes them as equal.

    Raises:
        ValueError: shapes or a ``bw_method`` that do not fit.
        TypeError: complex points.

    >>> kde = gaussian_kde(jnp.array([0.0, 1.0]))
    >>> kde.evaluate(jnp.array([0.5])).round(2)
    Array([0.47], dtype=float32)
    """

    neff: Value
    dataset: Value
    weights: Value
    covariance: Value
    inv_cov: Value

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        check_arraylike("gaussian_kde", dataset)
        points = jnp.atleast_2d(dataset)
        if jnp.issubdtype(points.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde does not support complex data")
        if not points.size > 1:
            raise ValueError("`dataset` input should have multiple elements.")
        (points,) = promote_all_inexact("gaussian_kde", points)
        n = points.shape[1]
        if weights is not None:
            check_arraylike("gaussian_kde", weights)
            points, given = promote_all_inexact("gaussian_kde", points, jnp.atleast_1d(weights))
            if given.ndim != 1:
                raise ValueError("`weights` input should be one-dimensional.")
            if given.shape[0] != n:
                raise ValueError("`weights` input should be of length n")
            shares = given / jnp.sum(given)
        else:
            shares = jnp.full(n, 1 / n, points.dtype)
        self.dataset, self.weights = points, shares
        self.neff = 1 / jnp.sum(shares * shares)
        self._set(self._factor(bw_method))

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or bw_method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if isinstance(bw_method, str):
            if bw_method == "silverman":
                return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        elif callable(bw_method):
            return bw_method(self)
        elif jnp.isscalar(bw_method) or getattr(bw_method, "ndim", 1) == 0:
            return bw_method
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")

    def _set(self, factor: Any) -> None:
        spread = jnp.atleast_2d(
            jnp.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights)
        )
        inverse = jnp.linalg.inv(spread)
        scale = jnp.asarray(factor, self.dataset.dtype) ** 2
        self.covariance, self.inv_cov = spread * scale, inverse / scale

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.dataset.shape[1])

    def tree_flatten(self) -> tuple[tuple[Value, ...], None]:
        """Return the arrays that the estimate is made of."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Any) -> gaussian_kde:
        """Return an estimate of these arrays."""
        out = object.__new__(cls)
        out.neff, out.dataset, out.weights, out.covariance, out.inv_cov = children
        return out

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Estimates keep their width (as in JAX): make a new one instead."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported")

    def _points(self, name: str, points: Any) -> Value:
        check_arraylike(f"gaussian_kde.{name}", points)
        x = jnp.atleast_2d(points)
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise TypeError("Argument `points` must be real-valued")
        (x, _) = promote_all_inexact(f"gaussian_kde.{name}", x, self.dataset)
        d, m = x.shape
        if d != self.d:
            if d == 1 and m == self.d:
                return x.reshape((self.d, 1))
            raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
        return x

    def _logarithms(self, x: Value) -> Value:
        """Return the logarithm of the density at points ``T[d, m]``."""
        factor = lax_linalg.cholesky(self.covariance)
        size = self.d / 2 * math.log(2 * math.pi) + jnp.sum(jnp.log(jnp.diagonal(factor)))

        def whiten(v: Value) -> Value:
            return lax_linalg.triangular_solve(factor, v, left_side=True, lower=True)

        centers = whiten(self.dataset)

        def one(point: Value) -> Value:
            gap = whiten(point[:, None]) - centers
            return special.logsumexp(-jnp.sum(gap * gap, 0) / 2, b=self.weights)

        return vmap(one, in_axes=1)(x) - size

    def evaluate(self, points: Any) -> Value:
        """Return the density at points ``T[d, m]``."""
        return jnp.exp(self._logarithms(self._points("evaluate", points)))

    def __call__(self, points: Any) -> Value:
        return self.evaluate(points)

    def pdf(self, x: Any) -> Value:
        """Return the density at points ``T[d, m]``."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Value:
        """Return the logarithm of the density at points ``T[d, m]``."""
        return self._logarithms(self._points("logpdf", x))

    def integrate_gaussian(self, mean: Any, cov: Any) -> Value:
        """Return the integral of the density times a normal density."""
        mean = jnp.atleast_1d(jnp.squeeze(jnp.asarray(mean)))
        cov = jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return self._overlap(self.dataset - mean[:, None], self.covariance + cov, self.weights)

    def _overlap(self, gaps: Value, cov: Value, weights: Value) -> Value:
        factor = lax_linalg.cholesky(cov)
        white = lax_linalg.triangular_solve(factor, gaps, left_side=True, lower=True)
        size = self.d / 2 * math.log(2 * math.pi) + jnp.sum(jnp.log(jnp.diagonal(factor)))
        return jnp.sum(weights * jnp.exp(-jnp.sum(white * white, 0) / 2 - size))

    def integrate_box_1d(self, low: Any, high: Any) -> Value:
        """Return the chance of the interval from ``low`` to ``high`` (one dimension only)."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) or jnp.ndim(high):
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        width = jnp.sqrt(self.covariance[0, 0])
        low, high = (jnp.squeeze((v - self.dataset[0]) / width) for v in (low, high))
        return jnp.sum(self.weights * (special.ndtr(high) - special.ndtr(low)))

    def integrate_kde(self, other: Any) -> Value:
        """Return the integral of the product of two densities."""
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        gaps = self.dataset[:, :, None] - other.dataset[:, None, :]
        weights = self.weights[:, None] * other.weights[None, :]
        flat = gaps.reshape((self.d, self.n * other.n))
        return self._overlap(flat, self.covariance + other.covariance, weights.reshape(-1))

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Value:
        """Not there, as in JAX: normal integrals over boxes have no closed form."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Value:
        """Return points drawn from the density: ``T[d, *shape]``."""
        pick, move = random.split(key)
        places = random.choice(pick, self.n, shape=shape, p=self.weights)
        steps = random.multivariate_normal(
            move, jnp.zeros(self.d, self.covariance.dtype), self.covariance, shape=shape,
            dtype=self.dataset.dtype,
        )  # fmt: skip
        return self.dataset[:, places] + jnp.moveaxis(steps, -1, 0)
