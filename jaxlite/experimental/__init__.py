"""``jax.experimental``'s names that clients use; ``checkify``, ``jet`` and ``ode`` are modules."""

from jaxlite.api.callbacks import io_callback
from jaxlite.settings import enable_x64, override

__all__ = ["disable_x64", "enable_x64", "io_callback"]


def disable_x64() -> override:
    """Context manager: 64-bit numbers off in this thread.

    >>> with disable_x64():
    ...     pass
    """
    return enable_x64(False)
