"""Loops: ``while_loop``, ``fori_loop``, ``scan``, ``map``, ``associative_scan``.

Bodies are traced once.

In: Python functions and pytrees. Out: results; this module checks types and flattens,
``higher_order`` runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.api.arguments import (
    FlatFunction,
    abstractify,
    check_callable,
    debug_info_of,
    to_arrays,
)
from jaxlite.api.carry import check_carry, promote_weak_carry
from jaxlite.api.control_flow import strengthen
from jaxlite.api.differences import type_text
from jaxlite.api.forwarding import forward_scan, forward_while, merge
from jaxlite.api.vmap import vmap
from jaxlite.diagnose.progress import expect_total, loop_params
from jaxlite.errors import ConcretizationTypeError
from jaxlite.higher_order.debug_callback import debug_callback_p
from jaxlite.higher_order.scan import row, scan_p
from jaxlite.higher_order.while_loop import while_p
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from jaxlite.language.trace import Tracer, get_aval, is_concrete
from jaxlite.language.treedef import PyTreeDef
from jaxlite.primitives.families import ops, scalar_like
from jaxlite.settings import config
from jaxlite.transforms.stage_out import hoist_consts, stage_out

__all__ = ["associative_scan", "fori_loop", "map", "scan", "while_loop"]


def _stage(
    fun: Callable[..., Any], args: Sequence[Any], leaves: Sequence[Any], transform: str
) -> tuple[ClosedJaxpr, PyTreeDef, FlatFunction]:
    in_tree = tree_flatten((tuple(args), {}))[1]
    flat = FlatFunction(fun, in_tree, debug_info_of(fun, args, {}), transform)
    closed = stage_out(
        flat, [x if hasattr(x, "str_short") else get_aval(x) for x in leaves], flat.info
    )
    assert flat.out_tree is not None
    return closed, flat.out_tree, flat


def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    progress: bool | str = False,
) -> Any:
    """Return the first carry for which ``cond_fun`` is false, starting from ``init_val``.

    Args:
      cond_fun: ``carry -> bool scalar``.
      body_fun: ``carry -> carry`` of the same structure, shapes and dtypes.
      init_val: first carry, a pytree.
      progress: show how many steps are done; a text is its label.

    Raises:
      TypeError: condition or body return something else. ValueError: reverse-mode differentiation.

    >>> from jaxlite import lax
    >>> int(lax.while_loop(lambda n: n < 100, lambda n: n * 2, 1))
    128
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    reporting = loop_params(progress, body_fun)
    if config.frame.disable_jit:
        value = _as_arrays(init_val)
        going = cond_fun(value)
        if is_concrete(going):
            while bool(going):
                value = body_fun(value)
                going = cond_fun(value)
            return value
    leaves, tree = tree_flatten(init_val)
    leaves = to_arrays(leaves)
    leaves, body, flat = promote_weak_carry(
        lambda xs: _stage(body_fun, (tree_unflatten(tree, xs),), xs, "while_loop"),
        leaves,
        len(leaves),
    )
    check_carry("while_loop", flat, tree, body, len(leaves), leaves, flat.out_tree)
    cond, cond_tree, _ = _stage(cond_fun, (tree_unflatten(tree, leaves),), leaves, "while_cond")
    _check_condition(cond, cond_tree)
    body = strengthen(body, [get_aval(x).weak_type for x in leaves])
    cond, cond_consts = hoist_consts(cond)
    body, body_consts = hoist_consts(body)
    cond, body, body_consts, leaves, forwarded = forward_while(
        cond, body, len(cond_consts), body_consts, leaves
    )
    outs = while_p.bind_all(
        *cond_consts,
        *body_consts,
        *leaves,
        cond_jaxpr=cond,
        body_jaxpr=body,
        cond_nconsts=len(cond_consts),
        body_nconsts=len(body_consts),
        **reporting,
    )
    return tree_unflatten(tree, merge(forwarded, outs))


def _as_arrays(init: Any) -> Any:
    """Return a start whose NumPy arrays a body cannot change in place."""
    leaves, tree = tree_flatten(init)
    return tree_unflatten(tree, to_arrays(leaves))


def _check_condition(cond: ClosedJaxpr, tree: PyTreeDef) -> None:
    if tree.num_nodes != 1 or tree.num_leaves != 1:
        raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {tree}.")
    (aval,) = cond.out_avals
    if aval.shape or aval.dtype != np.bool_:
        raise TypeError(
            f"cond_fun must return a boolean scalar, but got output type(s) [{aval!r}]."
        )


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    progress: bool | str = False,
) -> Any:
    """Return the carry after ``for i in range(lower, upper): carry = body_fun(i, carry)``.

    With Python numbers as bounds the loop can be differentiated in reverse.

    Args:
      lower: first index, a scalar; may be traced.
      upper: index to stop before, of the same dtype.
      body_fun: ``(i, carry) -> carry`` of the same structure, shapes and dtypes.
      init_val: first carry, a pytree.
      unroll: accepted as in JAX; needs concrete bounds.
      progress: show how far the loop is while it runs; a text is its label.

    Raises:
      TypeError: bounds are no scalars of one type, or the carry's type changes. OverflowError: a
        bound does not fit the index type.

    >>> from jaxlite import lax
    >>> int(lax.fori_loop(0, 5, lambda i, total: total + i, 0))
    10
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    static = is_concrete(lower) and is_concrete(upper)
    if unroll is not None and not static:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known."
        )
    lower, upper = _bounds(lower, upper)
    if static:
        start, stop = int(_concrete(lower)), int(_concrete(upper))
        if config.frame.disable_jit:
            value = _as_arrays(init_val)
            for i in range(start, stop):
                value = body_fun(i, value)
            return value
        return _fori_scan(lower, max(stop - start, 0), body_fun, init_val, progress, unroll)
    expect = expect_total(progress, body_fun)
    if expect is not None:
        debug_callback_p.bind_all(lower, upper, callback=expect, ordered=False)

    def cond(state: Any) -> Any:
        return ops.lt(state[0], state[1])

    def body(state: Any) -> Any:
        i, end, value = state
        return ops.add(i, scalar_like(i, 1)), end, body_fun(i, value)

    body.__name__ = getattr(body_fun, "__name__", "body_fun")
    return while_loop(cond, body, (lower, upper, init_val), progress=progress)[2]


def _concrete(x: Any) -> Any:
    return x.concrete_value()._data if hasattr(x, "concrete_value") else np.asarray(x)


def _bounds(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Return both bounds as scalars of one type; weak only if both are."""
    low, high = (abstractify(x) for x in (lower, upper))
    if low.shape or high.shape:
        raise TypeError(
            f"lower and upper arguments to fori_loop must be scalars, got {low} and {high}"
        )
    dtype = low.dtype
    if low.dtype != high.dtype:
        # A Python int takes the other bound's type.
        if isinstance(lower, int) and dtypes.issubdtype(high.dtype, np.integer):
            dtype = high.dtype
        elif not (isinstance(upper, int) and dtypes.issubdtype(low.dtype, np.integer)):
            raise TypeError(
                "lower and upper arguments to fori_loop must have equal types, got "
                f"{dtypes.name_of(low.dtype)} and {dtypes.name_of(high.dtype)}"
            )
    if dtypes.kind_of(dtype) in "iu":
        info = np.iinfo(dtype)
        for x in (lower, upper):
            if isinstance(x, int) and not info.min <= x <= info.max:
                raise OverflowError(
                    "An overflow was encountered while parsing an argument to a jitted "
                    f"computation. fori_loop bound {x} does not fit {dtypes.name_of(dtype)}."
                    "\n  Fix: jax_enable_x64."
                )
    weak = low.weak_type and high.weak_type
    return _as_index(lower, dtype, weak), _as_index(upper, dtype, weak)


def _as_index(x: Any, dtype: Any, weak: bool) -> Any:
    (array,) = to_arrays([x])
    return ops.convert_element_type(array, dtype, weak)


def _fori_scan(
    start: Any, length: int, body_fun: Any, init_val: Any, progress: bool | str, unroll: Any
) -> Any:
    def step(loop_carry: Any, _: Any) -> Any:
        i, value = loop_carry
        return (ops.add(i, scalar_like(i, 1)), body_fun(i, value)), None

    step.__name__ = getattr(body_fun, "__name__", "body_fun")
    unroll = 1 if unroll is None else unroll
    out = scan(step, (start, init_val), None, length=length, unroll=unroll, progress=progress)
    return out[0][1]


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    progress: bool | str = False,
) -> Any:
    """Run ``carry, y = f(carry, x)`` over the first axis of ``xs``; return carry and stacked ``y``.

    Args:
      f: ``(carry, x) -> (carry, y)``; the carry keeps its structure, shapes and dtypes.
      init: first carry, a pytree.
      xs: pytree of arrays with one leading length, or None.
      length: number of steps, needed only without ``xs``; a concrete number.
      reverse: from the last element to the first; ``y`` keeps the order of ``xs``.
      unroll: accepted as in JAX.
      progress: show how far the loop is while it runs; a text is its label.

    Raises:
      TypeError: ``f`` returns no pair or changes the carry's type. ValueError: lengths differ or
        are unknown.

    >>> import jaxlite.numpy as jnp
    >>> from jaxlite import lax
    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0.0, jnp.arange(1.0, 4.0))
    >>> float(total), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    xs_leaves, xs_tree = tree_flatten(xs)
    n = _scan_length(xs_leaves, length)
    xs_leaves = to_arrays(xs_leaves)
    reporting = loop_params(progress, f)
    steps_at_once = _unrolled(unroll)
    if config.frame.disable_jit:
        return _scan_in_python(f, _as_arrays(init), xs, n, reverse)
    leaves, tree = tree_flatten(init)
    leaves = to_arrays(leaves)
    x_avals = [row(get_aval(x)) for x in xs_leaves]

    def trace(carry: Sequence[Any]) -> Any:
        args = (tree_unflatten(tree, carry), tree_unflatten(xs_tree, x_avals))
        return _stage(f, args, [*[get_aval(c) for c in carry], *x_avals], "scan")

    leaves, body, flat = promote_weak_carry(trace, leaves, len(leaves))
    assert flat.out_tree is not None
    children = flat.out_tree.children()
    kind = flat.out_tree.node_data()
    if kind is None or kind[0] is not tuple or len(children) != 2:
        raise TypeError(f"scan body output must be a pair, got {_shown(flat.out_tree, body)}.")
    check_carry("scan", flat, tree, body, len(leaves), leaves, children[0])
    n_carry = len(leaves)
    weak = [get_aval(x).weak_type for x in leaves] + [a.weak_type for a in body.out_avals[n_carry:]]
    body, consts = hoist_consts(strengthen(body, weak))
    body, consts, moving, forwarded = forward_scan(body, consts, leaves, xs_leaves)
    found = scan_p.bind_all(
        *consts,
        *moving,
        *xs_leaves,
        jaxpr=body,
        length=n,
        num_carry=len(moving),
        num_consts=len(consts),
        reverse=reverse,
        unroll=steps_at_once,
        **reporting,
    )
    outs = merge(forwarded, found)
    return tree_unflatten(tree, outs[:n_carry]), tree_unflatten(children[1], outs[n_carry:])


def _shown(tree: PyTreeDef, body: ClosedJaxpr) -> Any:
    """Return result types as JAX writes them: one as ``float32[]``, several as a pytree."""
    if tree.num_nodes == 1:
        return f"{'~' if body.out_avals[0].weak_type else ''}{type_text(body.out_avals[0])}"
    return tree_unflatten(tree, list(body.out_avals))


def _static_int(x: Any, argument: str, kinds: str, advice: str = "") -> int:
    """Return a Python int; a traced value raises what it was wanted for."""
    if isinstance(x, Tracer) and not is_concrete(x):
        text = f"The `{argument}` argument to `scan` expects a concrete {kinds} value.{advice}\n"
        raise ConcretizationTypeError(x, text)
    return int(x)


def _unrolled(unroll: Any) -> int:
    steps = _static_int(unroll, "unroll", "`int` or `bool`")
    if steps < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    return steps


def _scan_length(leaves: Sequence[Any], length: Any) -> int:
    lengths = []
    for x in leaves:
        shape = abstractify(x).shape
        if not shape:
            raise ValueError(f"scan got value with no leading axis to scan over: {x}.")
        lengths.append(shape[0])
    if length is not None:
        advice = " For scan-like iteration with a dynamic length, use `while_loop` or `fori_loop`."
        n = _static_int(length, "length", "`int`", advice)
        if n < 0:
            raise ValueError(f"scan `length` must be non-negative, got {n}.")
        if any(m != n for m in lengths):
            raise ValueError(
                f"scan got `length` argument of {n} which disagrees with leading axis sizes "
                f"{lengths}."
            )
        return n
    unique = set(lengths)
    if len(unique) > 1:
        text = ", ".join(map_str(lengths))
        raise ValueError(f"scan got values with different leading axis sizes: {text}.")
    if not unique:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return int(unique.pop())


def map_str(values: Sequence[Any]) -> list[str]:
    """Return each value as text."""
    return [str(v) for v in values]


def _scan_in_python(f: Any, init: Any, xs: Any, n: int, reverse: bool) -> Any:
    """Run the loop in Python (``disable_jit``): every step can be looked at."""
    carry, ys = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, tree_map(lambda x, i=i: x[i], xs))
        ys.append(y)
    if reverse:
        ys.reverse()
    if not ys:
        raise ValueError(
            "zero-length scan is not supported in disable_jit() mode because the output type is "
            "unknown."
        )
    stacked = tree_map(lambda *cols: _stack(cols), *ys)
    return carry, stacked


def _stack(rows: Sequence[Any]) -> Any:
    arrays = to_arrays(rows)
    shape = get_aval(arrays[0]).shape
    kept = tuple(range(1, len(shape) + 1))
    return ops.concatenate([ops.broadcast_in_dim(a, (1, *shape), kept) for a in arrays], 0)


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Return ``f`` applied to each element along the first axis of ``xs``, one after the other.

    Like ``vmap`` but in sequence: less memory, and ``cond`` stays a branch. ``batch_size`` maps
    that many at once.

    >>> import jaxlite.numpy as jnp
    >>> from jaxlite import lax
    >>> lax.map(lambda x: x + 1.0, jnp.arange(3.0)).tolist()
    [1.0, 2.0, 3.0]
    """
    check_callable(f)
    if batch_size is not None:
        return _batched_map(f, xs, batch_size)
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def _batched_map(f: Callable[[Any], Any], xs: Any, batch_size: int) -> Any:
    from_axis = tree_leaves(xs)[0].shape[0]
    n_full = from_axis // batch_size
    parts = []
    batched = vmap(f)
    if n_full:
        heads = tree_map(
            lambda x: ops.reshape(
                _rows(x, 0, n_full * batch_size), (n_full, batch_size, *x.shape[1:])
            ),
            xs,
        )
        out = scan(lambda _, x: ((), batched(x)), (), heads)[1]
        parts.append(tree_map(lambda y: ops.reshape(y, (n_full * batch_size, *y.shape[2:])), out))
    if from_axis % batch_size:
        parts.append(batched(tree_map(lambda x: _rows(x, n_full * batch_size, from_axis), xs)))
    if len(parts) == 1:
        return parts[0]
    return tree_map(lambda a, b: ops.concatenate([a, b], 0), *parts)


def _rows(x: Any, start: int, stop: int) -> Any:
    (x,) = to_arrays([x])
    shape = get_aval(x).shape
    return ops.slice(x, (start,) + (0,) * (len(shape) - 1), (stop, *shape[1:]))


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Return all prefixes combined by the associative ``fn``, in O(log n) whole-array steps.

    Args:
      fn: ``(a, b) -> c`` on pytrees like ``elems`` with any length along ``axis``; associative.
      elems: pytree of arrays with one length along ``axis``.
      reverse: suffixes instead of prefixes.
      axis: the scanned axis.

    Raises:
      TypeError: ``fn`` is not callable. ValueError: lengths differ.

    Algorithm: Blelloch (1990), section 1.4: pairs are combined, scanned recursively, and
    interleaved.

    >>> import jaxlite.numpy as jnp
    >>> from jaxlite import lax
    >>> lax.associative_scan(jnp.add, jnp.arange(1, 6)).tolist()
    [1, 3, 6, 10, 15]
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = tree_flatten(elems)
    leaves = to_arrays(leaves)
    if not leaves:
        return elems
    rank = get_aval(leaves[0]).ndim
    axis = axis + rank if axis < 0 else axis
    if reverse:
        leaves = [ops.rev(x, (axis,)) for x in leaves]
    lengths = {get_aval(x).shape[axis] for x in leaves}
    if len(lengths) > 1:
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension. "
            f"(saw: {[get_aval(x).shape for x in leaves]})"
        )

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        out = fn(tree_unflatten(tree, a), tree_unflatten(tree, b))
        return to_arrays(tree_flatten(out)[0])

    outs = _prefixes(combine, leaves, axis)
    if reverse:
        outs = [ops.rev(x, (axis,)) for x in outs]
    return tree_unflatten(tree, outs)


def _every_second(x: Any, axis: int, start: int, stop: int | None = None) -> Any:
    shape = list(get_aval(x).shape)
    starts = [0] * len(shape)
    limits = list(shape)
    strides = [1] * len(shape)
    starts[axis], strides[axis] = start, 2
    limits[axis] = shape[axis] if stop is None else stop
    return ops.slice(x, tuple(starts), tuple(limits), tuple(strides))


def _prefixes(combine: Any, xs: list[Any], axis: int) -> list[Any]:
    n = get_aval(xs[0]).shape[axis]
    if n < 2:
        return xs
    last = n - 1 if n % 2 else n
    pairs = combine(
        [_every_second(x, axis, 0, last if n % 2 else n - 1) for x in xs],
        [_every_second(x, axis, 1) for x in xs],
    )
    odd = _prefixes(combine, pairs, axis)
    before = odd if n % 2 else [_drop_last(x, axis) for x in odd]
    even_rest = [_every_second(x, axis, 2) for x in xs]
    rest = combine(before, even_rest) if get_aval(even_rest[0]).shape[axis] else even_rest
    even = [
        ops.concatenate([_first(x, axis), r], axis) if get_aval(r).shape[axis] else _first(x, axis)
        for x, r in zip(xs, rest, strict=True)
    ]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _first(x: Any, axis: int) -> Any:
    shape = list(get_aval(x).shape)
    shape[axis] = 1
    return ops.slice(x, (0,) * len(shape), tuple(shape))


def _drop_last(x: Any, axis: int) -> Any:
    shape = list(get_aval(x).shape)
    shape[axis] -= 1
    return ops.slice(x, (0,) * len(shape), tuple(shape))


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Return even[0], odd[0], even[1], ... : pads both with holes and adds them."""
    n_even, n_odd = get_aval(even).shape[axis], get_aval(odd).shape[axis]
    rank = get_aval(even).ndim
    zero = np.zeros((), dtypes.storage_dtype(get_aval(even).dtype))[()]

    def spread(x: Any, low: int, high: int) -> Any:
        config_ = [(0, 0, 0)] * rank
        config_[axis] = (low, high, 1)
        return ops.pad(x, zero, tuple(config_))

    a = spread(even, 0, 1 if n_even == n_odd else 0)
    b = spread(odd, 1, 0 if n_even == n_odd else 1)
    if get_aval(even).dtype == np.bool_:
        return ops.bitwise_or(a, b)
    return ops.add(a, b)
