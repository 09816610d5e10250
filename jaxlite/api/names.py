"""Names for parts of a program: they group what the views show and change no number."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from jaxlite.api.arguments import check_callable, name_of
from jaxlite.api.jit import jit

__all__ = ["named_call", "named_scope"]


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Return ``fun`` as a call of its own in jaxprs, under ``name`` (its own name by default).

    >>> import jaxlite as jax
    >>> float(jax.named_call(lambda x: x + 1.0, name="step")(1.0))
    2.0
    """
    check_callable(fun)

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    named.__name__ = name or name_of(fun)
    jitted: Callable[..., Any] = jit(named)
    return jitted


@contextlib.contextmanager
def named_scope(name: str) -> Iterator[None]:
    """Name the operations inside the block; accepted as in JAX.

    >>> import jaxlite as jax
    >>> with jax.named_scope("layer"):
    ...     pass
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope name argument must be a string, got {type(name)}")
    yield
