"""``jaxlite.scipy.sparse``: solvers that only multiply by the matrix (``linalg``)."""

from jaxlite.scipy.sparse import linalg

__all__ = ["linalg"]
