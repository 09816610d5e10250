"""Functions with their own batching rule, as in ``jax.custom_batching``.

How they work: ``api/custom_batching.py``.
"""

from jaxlite.api.custom_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
