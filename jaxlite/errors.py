"""Every exception class. In: the facts. Out: a message in the one form of this project.

Classes that JAX has keep JAX's names, bases and first sentences, so that people find help by
searching.
Each docstring is the help page: cause, broken code, fixed code.
"""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = [
    "AllocationError",
    "CacheError",
    "CellError",
    "ConcreteShapeError",
    "ConcretizationTypeError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxliteError",
    "JaxprTypeError",
    "KernelCompileError",
    "KeyReuseError",
    "MissingPartError",
    "NonConcreteBooleanIndexError",
    "RecompileError",
    "StaleGlobalError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TracerLeakError",
    "TypePromotionError",
    "UnexpectedTracerError",
    "located",
]


E = TypeVar("E", bound="JaxliteError")


class JaxliteError(Exception):
    """Base of the errors that only jaxlite has.

    ``code`` is the JL number that notebooks print in front of the message (None for most).
    """

    code: str | None = None


class JAXTypeError(TypeError):
    """A traced value was used where only a concrete one will do.

    ``depends_on`` are the names of the arguments that the value was computed from.
    """

    depends_on: tuple[str, ...] = ()


class JAXIndexError(IndexError):
    """An index that cannot be used with traced values."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value has no number yet.

    Cause: ``float(x)``, ``int(x)`` or a shape made from ``x`` while ``jit`` records the function.

    Broken: ``jit(lambda n: jnp.zeros(n))(3)``. Fixed: ``jit(lambda n: jnp.zeros(n),
    static_argnums=0)(3)``.
    """

    def __init__(self, tracer: Any, context: str = "") -> None:
        message = tracer
        if not isinstance(tracer, str):
            message = (
                "Abstract tracer value encountered where concrete value is expected: "
                f"{_describe(tracer)}\n{context}{_origin(tracer)}"
                "\n  Fix: mark the argument static (static_argnums, static_argnames) if it is a "
                "Python "
                "constant, or keep the computation in jaxlite.numpy."
            )
        super().__init__(message)
        self.depends_on = _names(tracer)


class TracerBoolConversionError(ConcretizationTypeError):
    """``if``, ``and``, ``or``, ``not``, ``while`` on a traced value.

    Broken: ``jit(lambda x: x if x > 0 else 0.)``. Fixed: ``jit(lambda x: jnp.where(x > 0, x,
    0.))``, or ``lax.cond``, or ``static_argnames`` if the value is a Python constant.
    """

    def __init__(self, tracer: Any) -> None:
        message = tracer
        if not isinstance(tracer, str):
            message = (
                f"Attempted boolean conversion of {_describe(tracer)}.{_origin(tracer)}"
                "\n  Fix: jnp.where(condition, a, b), or lax.cond, or mark the argument static "
                "(static_argnames) if it is a Python constant."
            )
        JAXTypeError.__init__(self, message)
        self.depends_on = _names(tracer)


class TracerIntegerConversionError(JAXTypeError):
    """A traced value used as a Python index or count.

    Broken: ``jit(lambda i: [1, 2][i])``. Fixed: ``jit(lambda i: jnp.array([1, 2])[i])``.
    """

    def __init__(self, tracer: Any) -> None:
        message = tracer
        if not isinstance(tracer, str):
            message = (
                f"The __index__() method was called on {_describe(tracer)}{_origin(tracer)}"
                "\n  Fix: convert the Python list to an array, jnp.array(table)[i], or mark the "
                "argument "
                "static (static_argnames)."
            )
        super().__init__(message)
        self.depends_on = _names(tracer)


class TracerArrayConversionError(JAXTypeError):
    """A NumPy function was called on a traced value.

    Broken: ``jit(lambda x: np.sin(x))``. Fixed: ``jit(lambda x: jnp.sin(x))``.
    """

    def __init__(self, tracer: Any) -> None:
        message = tracer
        if not isinstance(tracer, str):
            message = (
                "The numpy.ndarray conversion method __array__() was called on "
                f"{_describe(tracer)}{_origin(tracer)}"
                "\n  Fix: use the function of the same name in jaxlite.numpy, or "
                "jaxlite.pure_callback."
            )
        super().__init__(message)


class ConcreteShapeError(JAXTypeError):
    """A shape made from a traced value: shapes must be known while tracing.

    Broken: ``jit(lambda n: jnp.zeros(n))(3)``. Fixed: ``jit(lambda n: jnp.zeros(n),
    static_argnums=0)(3)``.
    """


class NonConcreteBooleanIndexError(JAXIndexError):
    """A boolean mask whose values are not known while tracing.

    The result's shape would depend on them.

    Broken: ``jit(lambda x: x[x > 0].sum())``. Fixed: ``jit(lambda x: jnp.where(x > 0, x,
    0).sum())``.
    """

    def __init__(self, tracer: Any) -> None:
        message = tracer
        if not isinstance(tracer, str):
            message = (
                "Array boolean indices must be concrete; got "
                f"{_describe(tracer)[len('traced array with shape ') :]}{_origin(tracer)}"
                "\n  Fix: jnp.where(mask, x, 0) keeps the shape; x.at[mask] and jnp.nonzero(mask, "
                "size=n) "
                "are other ways."
            )
        super().__init__(message)


class UnexpectedTracerError(JAXTypeError):
    """A traced value was stored outside its function and used later.

    Broken: ``log = []; jit(lambda x: log.append(x))(1.); log[0] + 1``. Fixed: return the value.
    """


class TracerLeakError(JaxliteError):
    """A traced value outlived its function, under ``jax.checking_leaks()``.

    Broken: ``log = []; jit(lambda x: log.append(x) or x)(1.)``. Fixed: return the value.
    """


class TypePromotionError(ValueError):
    """Two types have no common type.

    Raised by ``x + y`` with an 8-bit float and any other sized type, and by any mixture of sized
    types under ``numpy_dtype_promotion("strict")``.

    Broken: ``jnp.float8_e5m2(1) + jnp.float32(1)``

    Fixed: ``jnp.float8_e5m2(1).astype("float32") + jnp.float32(1)``
    """


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed: a bug in jaxlite or in a hand-written primitive."""


class KeyReuseError(RuntimeError):
    """A random key was used twice."""


class JaxRuntimeError(RuntimeError):
    """Something failed while a compiled program ran."""


class KernelCompileError(JaxliteError, RuntimeError):
    """The back end rejected generated code: a bug in jaxlite, not in the user's code."""


class RecompileError(JaxliteError, RuntimeError):
    """A guard (``no_recompile``, ``max_traces``) stopped a compilation."""

    code = "JL030"


class MissingPartError(JaxliteError, ImportError):
    """A package that this operation needs is not installed or cannot be imported.

    The message names it and the command that mends it; ``jaxlite doctor`` lists all parts.
    """


class AllocationError(JaxliteError, MemoryError):
    """A result would be larger than ``jaxlite.config.max_allocation_bytes`` or than the memory."""


class CacheError(JaxliteError, OSError):
    """The cache folder cannot be used safely."""


class CellError(JaxliteError):
    """A ``%%jit`` cell cannot be run as it is written."""

    code = "JL010"


def located(error: E, code: str) -> E:
    """Return ``error`` with its JL code set."""
    error.code = code
    return error


def _describe(tracer: Any) -> str:
    shape = ",".join(str(d) for d in tracer.aval.shape)
    return f"traced array with shape {tracer.aval.dtype}[{shape}]"


def _names(tracer: Any) -> tuple[str, ...]:
    depends_on = getattr(tracer, "depends_on", None)
    return tuple(depends_on()) if depends_on is not None else ()


def _origin(tracer: Any) -> str:
    text = tracer.describe()
    return f"\n{text}" if text else ""


class StaleGlobalError(JaxliteError, RuntimeError):
    """A global that compiled code captured has changed, and ``stale_globals`` is ``error``.

    Broken: ``lr = 0.1; f = jit(lambda x: x * lr); f(1.); lr = 0.2; f(1.)``.
    Fixed: ``f = jit(lambda x, lr: x * lr)``.
    """

    code = "JL203"
