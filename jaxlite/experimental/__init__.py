"""``jax.experimental``'s names that clients use: ``io_callback`` and ``enable_x64``."""

from jaxlite.api.callbacks import io_callback
from jaxlite.settings import enable_x64

__all__ = ["enable_x64", "io_callback"]
