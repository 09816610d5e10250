"""``jaxlite.scipy.linalg``: SciPy's linear algebra. In: matrices. Out: matrices and factors.

Files, in reading order: ``factors`` (Cholesky, LU, QR, eigenvalues, Schur, ...), ``equations``
(solve by factors), ``functions`` (exponentials, square roots and other functions of matrices),
``special_matrices`` (Toeplitz, Hilbert, ...).
"""

from jaxlite.scipy.linalg.equations import *  # noqa: F403
from jaxlite.scipy.linalg.equations import __all__ as _equations
from jaxlite.scipy.linalg.factors import *  # noqa: F403
from jaxlite.scipy.linalg.factors import __all__ as _factors
from jaxlite.scipy.linalg.functions import *  # noqa: F403
from jaxlite.scipy.linalg.functions import __all__ as _functions
from jaxlite.scipy.linalg.special_matrices import *  # noqa: F403
from jaxlite.scipy.linalg.special_matrices import __all__ as _special_matrices

__all__ = [*_equations, *_factors, *_functions, *_special_matrices]
