"""Who interprets an operation now. Stage 2 of 7 uses it; so do all transformations.

In: a primitive and its operands. Out: its results. The current trace is thread-local; at the bottom
is ``EvalTrace``, which runs the primitive's ``impl`` at once.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from jaxlite import errors
from jaxlite.language.array import Array, ArrayImpl, asarray_eager
from jaxlite.language.avals import ShapedArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jaxlite.language.primitive import Primitive


class Trace:
    """An interpreter for one transformation. ``parent`` is the one its rules run under."""

    __slots__ = ("__weakref__", "is_live", "parent")
    #: What messages call it.
    known_as = "Trace"

    def __init__(self, parent: Trace | None) -> None:
        self.parent = parent
        self.is_live = True

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Apply ``primitive`` to ``args`` (tracers of any level, arrays, Python numbers)."""
        raise NotImplementedError

    def process_custom(
        self, call: Any, fun: Callable[..., tuple[Any, ...]], args: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Apply flat ``fun`` whose derivative ``call`` defines (custom_jvp, custom_vjp)."""
        raise NotImplementedError


class Tracer(Array):
    """A boxed value of one trace."""

    __slots__ = ("__weakref__", "_trace", "aval")

    _trace: Trace

    def __init__(self, trace: Trace, aval: ShapedArray) -> None:
        self._trace = trace
        self.aval = aval

    def describe(self) -> str:
        """Return what an error message says about where this value came from."""
        return ""

    def concrete_value(self) -> Any:
        """Return the array a user may branch on (None when it is only known at run time)."""
        return None


class EvalTrace(Trace):
    """The bottom: runs ``impl`` on the array module of the operands at once."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None)

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Run ``primitive`` on concrete values."""
        return evaluator.evaluate(primitive, args, params)

    def process_custom(
        self, call: Any, fun: Callable[..., tuple[Any, ...]], args: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Run the function itself: nobody differentiates here."""
        return fun(*args)


class Evaluator:
    """How concrete values are computed; ``runtime`` installs the real one (the first inversion)."""

    def evaluate(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Return the results of ``primitive`` on concrete operands."""
        raise NotImplementedError("import jaxlite installs the evaluator")


evaluator = Evaluator()


def install_evaluator(new: Evaluator) -> None:
    """Make ``new`` run eager operations (called once by ``runtime``)."""
    global evaluator
    evaluator = new


EVAL_TRACE = EvalTrace()


class _State(threading.local):
    trace: Trace = EVAL_TRACE
    #: Names and sizes of the mapped axes around us, innermost last (``vmap(axis_name=...)``).
    axis_env: tuple[tuple[Any, int], ...] = ()
    #: Name and size of the axis that a batch rule is applied for, if it has a name.
    batched_axis: tuple[Any, int] | None = None


state = _State()


class use_trace:
    """Make ``trace`` current inside the block (in this thread)."""

    __slots__ = ("before", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __enter__(self) -> Trace:
        self.before = state.trace
        state.trace = self.trace
        return self.trace

    def __exit__(self, *exc: object) -> None:
        state.trace = self.before


class axis_env:
    """Add named axes, ``((name, size), ...)``, inside the block (in this thread)."""

    __slots__ = ("added", "before")

    def __init__(self, added: tuple[tuple[Any, int], ...]) -> None:
        self.added = added

    def __enter__(self) -> None:
        self.before = state.axis_env
        state.axis_env = self.before + self.added

    def __exit__(self, *exc: object) -> None:
        state.axis_env = self.before


class batching:
    """Tell the batch rules applied inside the block (in this thread) which axis they are for."""

    __slots__ = ("axis", "before")

    def __init__(self, axis: tuple[Any, int] | None) -> None:
        self.axis = axis

    def __enter__(self) -> None:
        self.before = state.batched_axis
        state.batched_axis = self.axis

    def __exit__(self, *exc: object) -> None:
        state.batched_axis = self.before


def get_aval(x: Any) -> ShapedArray:
    """Return the aval of an array, a tracer, or a Python or NumPy value."""
    if isinstance(x, Array):
        return x.aval
    return asarray_eager(x).aval


def is_concrete(x: Any) -> bool:
    """Say whether the value of ``x`` is known now."""
    return not isinstance(x, Tracer) or x.concrete_value() is not None


def to_concrete(x: Any) -> ArrayImpl:
    """Return ``x`` as an array with data; a tracer that got here has escaped its transformation."""
    if type(x) is ArrayImpl:
        return x
    if isinstance(x, Tracer):
        raise leaked(x)
    return asarray_eager(x)


def leaked(x: Tracer) -> Exception:
    """Return the error for a tracer that is used outside its transformation."""
    return errors.UnexpectedTracerError(
        "Encountered an unexpected tracer. A function transformed by JAX had a side effect, "
        f"allowing for a reference to an intermediate value with type {x.aval.str_short()} "
        f"wrapped in a {type(x).__name__} to escape the scope of the transformation.\n"
        "JAX transformations require that functions explicitly return their outputs, and disallow "
        "saving intermediate values to global state.\n"
        + (x.describe() or "")
        + (
            "\n  A function with its own derivative rule closes over the value, but the rule has no"
            "\n  derivative with respect to it."
            "\n  Fix: pass the value as an argument of the function."
            if x._trace.is_live
            else "\n  Fix: return the value from the function instead of storing it outside."
        )
    )
