"""Functions with their own derivative rule, as in ``jax.custom_derivatives``.

How they work: ``api/custom_derivatives.py`` and ``api/closures.py``.
"""

from jaxlite.api.closures import closure_convert, linear_call
from jaxlite.api.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from jaxlite.higher_order.custom_call import custom_jvp_call_p, custom_vjp_call_p

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
