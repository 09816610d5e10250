"""How types of array elements combine, and the one module to import dtype functions from.

In: arrays, Python numbers, dtypes. Out: the dtype of an operation on them. The types themselves
are in ``scalar_types.py``.

Promotion is a walk in JAX's lattice: the result of several types is their least upper bound. A
Python number is *weak*: it stands at ``i*``, ``f*`` or ``c*``, below the sized types it yields to.

    bool -> i* -> u8 -> u16 -> u32 -> u64 -> f* -> bf16 -> f32 -> f64 -> c128
                  i8 -> i16 -> i32 -> i64          f16          c64
                  (and u8 -> i16, u16 -> i32, u32 -> i64)  f* -> c* -> c64
"""

from typing import Any, Final

import numpy as np

from jaxlite.errors import TypePromotionError
from jaxlite.language.scalar_types import (
    BOOL,
    COMPLEXES,
    FLOATS,
    INTS,
    KEY_FRY,
    KEY_RBG,
    KEY_UNSAFE_RBG,
    KINDS,
    PYTHON_SCALARS,
    SCALAR_OF_KIND,
    SMALL_FLOATS,
    SMALL_INTS,
    DType,
    KeyDType,
    as_dtype,
    bfloat16,
    bit_width,
    canonicalize_dtype,
    default_dtype,
    extended,
    finfo,
    float0,
    iinfo,
    is_python_scalar,
    issubdtype,
    itemsize_bits,
    kind_of,
    name_of,
    prng_key,
    requested_dtype,
    short_name,
    storage_dtype,
    to_complex_dtype,
    to_inexact_dtype,
    to_real_dtype,
)
from jaxlite.settings import config

__all__ = [
    "KEY_FRY",
    "KEY_RBG",
    "KEY_UNSAFE_RBG",
    "PYTHON_SCALARS",
    "DType",
    "KeyDType",
    "TypePromotionError",
    "as_dtype",
    "bfloat16",
    "bit_width",
    "canonicalize_dtype",
    "check_python_int",
    "default_dtype",
    "dtype",
    "dtype_and_weak",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "is_python_scalar",
    "is_weakly_typed",
    "issubdtype",
    "itemsize_bits",
    "kind_of",
    "name_of",
    "prng_key",
    "promote_all",
    "promote_pair",
    "promote_types",
    "requested_dtype",
    "result_type",
    "scalar_type_of",
    "short_name",
    "storage_dtype",
    "to_complex_dtype",
    "to_inexact_dtype",
    "to_real_dtype",
]


def dtype(x: Any, *, canonicalize: bool = False) -> Any:
    """Return the dtype of a value or of a dtype-like; Python numbers have their widest one.

    Raises:
        TypeError: ``x`` is neither.
    """
    dt, _ = dtype_and_weak(x, explicit=False)
    return canonicalize_dtype(dt, allow_extended_dtype=True) if canonicalize else dt


def scalar_type_of(x: Any) -> type:
    """Return the Python type (bool, int, float or complex) of a value or of a dtype.

    Raises:
        TypeError: it is none of them.

    Example:
        >>> scalar_type_of(np.int8(3)), scalar_type_of("bfloat16")
        (<class 'int'>, <class 'float'>)
    """
    dt = x if isinstance(x, (np.dtype, KeyDType)) else dtype(x)
    found = SCALAR_OF_KIND.get(kind_of(dt))
    if found is None:
        raise TypeError(f"Invalid scalar value {x}")
    return found


def is_weakly_typed(x: Any) -> bool:
    """Return whether ``x`` gives way in promotion: Python numbers, and arrays made from them only.

    Example:
        >>> is_weakly_typed(1.0), is_weakly_typed(True), is_weakly_typed(np.float32(1))
        (True, False, False)
    """
    aval = getattr(x, "aval", x)
    weak = getattr(aval, "weak_type", None)
    return type(x) in (int, float, complex) if weak is None else bool(weak)


def dtype_and_weak(x: Any, explicit: bool = True) -> tuple[Any, bool]:
    """Return (dtype, weak) of a value or a dtype-like; ``explicit`` warns of narrowed dtypes."""
    kind = type(x)
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval.dtype, aval.weak_type
    if kind in PYTHON_SCALARS:
        return default_dtype(kind), kind is not bool
    if kind is type and x in PYTHON_SCALARS:
        return default_dtype(x), x is not bool
    if isinstance(x, KeyDType):
        return x, False
    dt = getattr(x, "dtype", None)
    if not isinstance(dt, (np.dtype, KeyDType)):  # NumPy's scalar types have a descriptor there
        if x is None or isinstance(x, (str, np.dtype, type)):
            dt = as_dtype(x)
            if explicit and x is not None and dt in KINDS:
                dt = requested_dtype(x, "dtype")
        else:
            # A subclass of a Python number has its type, but is not weak.
            base = next((t for t in PYTHON_SCALARS if isinstance(x, t)), None)
            if base is None and hasattr(x, "__jax_array__"):
                aval = x.__jax_array__().aval
                return aval.dtype, aval.weak_type
            if base is None:
                raise TypeError(f"Cannot determine dtype of {x}")
            return default_dtype(base), False
    if dt not in KINDS:
        dt = np.dtype("S") if isinstance(x, str) else dt
        raise TypeError(
            f"Value '{x}' with dtype {dt} is not a valid JAX array type. "
            "Only arrays of numeric types are supported by JAX."
        )
    return dt, False


# The lattice. A node is a np.dtype or one of the weak nodes "i*", "f*", "c*".
_WEAK_NODE: Final = {"i": "i*", "u": "i*", "f": "f*", "c": "c*"}


def _edges() -> dict[Any, tuple[Any, ...]]:
    u8, i8, u16, i16, u32, i32, u64, i64 = INTS
    bf16, f16, f32, f64 = FLOATS
    c64, c128 = COMPLEXES
    edges: dict[Any, tuple[Any, ...]] = {
        BOOL: ("i*",),
        "i*": (u8, i8, *SMALL_INTS),
        u8: (i16, u16),
        i8: (i16,),
        u16: (i32, u32),
        i16: (i32,),
        u32: (i64, u64),
        i32: (i64,),
        u64: ("f*",),
        i64: ("f*",),
        "f*": ("c*", bf16, f16, *SMALL_FLOATS),
        bf16: (f32,),
        f16: (f32,),
        f32: (f64, c64),
        f64: (c128,),
        "c*": (c64,),
        c64: (c128,),
        c128: (),
    }
    return {**dict.fromkeys((*SMALL_INTS, *SMALL_FLOATS), ()), **edges}


def _strict_edges() -> dict[Any, tuple[Any, ...]]:
    edges: dict[Any, tuple[Any, ...]] = dict.fromkeys(_edges(), ())
    edges["i*"] = ("f*", *INTS, *SMALL_INTS)
    edges["f*"] = ("c*", *FLOATS, *SMALL_FLOATS)
    edges["c*"] = COMPLEXES
    return edges


def _upper_bounds(edges: dict[Any, tuple[Any, ...]]) -> dict[Any, frozenset[Any]]:
    bounds: dict[Any, frozenset[Any]] = {}

    def above(node: Any) -> frozenset[Any]:
        if node not in bounds:
            bounds[node] = frozenset({node}).union(*(above(up) for up in edges[node]))
        return bounds[node]

    for node in edges:
        above(node)
    return bounds


_ABOVE: Final = {"standard": _upper_bounds(_edges()), "strict": _upper_bounds(_strict_edges())}


def _least_upper_bound(nodes: set[Any], mode: str) -> Any:
    above = _ABOVE[mode]
    common = frozenset.intersection(*(above[node] for node in nodes))
    for node in common:
        if above[node] == common:
            return node
    names = tuple(sorted((_node_name(n) for n in nodes), key=str))
    start = f"Input dtypes {names} have no available implicit dtype promotion path"
    if mode == "strict":
        raise TypePromotionError(
            f"{start} when jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the "
            "desired output type, or set jax_numpy_dtype_promotion=standard."
        )
    small_floats = any(n in SMALL_FLOATS for n in nodes)
    subject = "8-bit floats" if small_floats else "1-bit, 2-bit and 4-bit integers"
    target = "float32" if small_floats else "int32"
    raise TypePromotionError(
        f"{start}. To avoid unintended promotion, {subject} do not support implicit promotion. If "
        "you'd like your inputs to be promoted to another type, you can do so explicitly using "
        f"e.g. x.astype('{target}')"
    )


_PYTHON_OF_NODE: Final = {"i*": int, "f*": float, "c*": complex}


def _node_name(node: Any) -> str:
    return str(_PYTHON_OF_NODE[node]) if node in _PYTHON_OF_NODE else str(node.name)


def _node(dt: Any, weak: bool) -> Any:
    if dt not in _ABOVE["standard"]:
        raise ValueError(f"dtype={dt!r} is not a valid dtype for JAX type promotion.")
    return _WEAK_NODE.get(KINDS[dt], dt) if weak else dt


def _dtype_of_node(node: Any) -> Any:
    return PYTHON_SCALARS[_PYTHON_OF_NODE[node]] if node in _PYTHON_OF_NODE else node


def _join(pairs: tuple[tuple[Any, bool], ...], mode: str) -> tuple[Any, bool]:
    """Return (dtype, weak) of values with these dtypes and weak flags, not yet canonical."""
    dtypes = {dt for dt, _ in pairs}
    all_weak = all(weak for _, weak in pairs)
    if len(dtypes) == 1 and (not all_weak or len(pairs) == 1):
        return _widest(pairs[0][0]) if all_weak else (pairs[0][0], False)
    if all_weak and mode == "standard":
        # Weak operands keep their own order; the result is weak again, so as wide as a number.
        bound = _least_upper_bound({_node(dt, False) for dt in dtypes}, mode)
        return _widest(_dtype_of_node(bound))
    bound = _least_upper_bound({_node(dt, weak) for dt, weak in pairs}, mode)
    return _dtype_of_node(bound), bound in _PYTHON_OF_NODE


_WIDEST: Final = {
    "i": np.dtype("int64"),
    "u": np.dtype("uint64"),
    "f": np.dtype("float64"),
    "c": np.dtype("complex128"),
}


def _widest(dt: Any) -> tuple[Any, bool]:
    """Return (dtype, weak) of a weak value: the widest dtype of its kind. Bools are never weak."""
    wide = _WIDEST.get(kind_of(dt))
    return (dt, False) if wide is None else (wide, True)


_pair_cache: dict[tuple[Any, ...], tuple[Any, bool]] = {}
_all_cache: dict[tuple[Any, ...], tuple[Any, bool]] = {}


def promote_pair(a: DType, a_weak: bool, b: DType, b_weak: bool) -> tuple[Any, bool]:
    """Return (dtype, weak) of an operation on a value of each kind. The hot path: one dict look-up.

    Example:
        >>> promote_pair(np.dtype("int8"), False, np.dtype("float32"), True)
        (dtype('float32'), True)
    """
    key = (config.frame.trace_key, a, a_weak, b, b_weak)
    found = _pair_cache.get(key)
    if found is None:
        found = _pair_cache[key] = promote_all((a, a_weak), (b, b_weak))
    return found


def promote_all(*pairs: tuple[Any, bool]) -> tuple[Any, bool]:
    """Return the canonical (dtype, weak) of an operation on values of these (dtype, weak)."""
    key = (config.frame.trace_key, pairs)
    found = _all_cache.get(key)
    if found is None:
        dt, weak = _join(pairs, config.frame.numpy_dtype_promotion)
        if len(_all_cache) >= 4096:  # long calls, such as concatenate of many arrays, each differ
            _all_cache.clear()
        wide = config.frame.explicit_x64_dtypes == "allow" and (dt, False) in pairs
        dt = dt if wide else canonicalize_dtype(dt, allow_extended_dtype=True)
        found = _all_cache[key] = dt, weak
    return found


def promote_types(a: Any, b: Any) -> Any:
    """Return the dtype of an operation on dtypes ``a`` and ``b``; Python's types count as weak.

    Raises:
        TypePromotionError: they have no common type.

    Example:
        >>> promote_types("int32", "float16"), promote_types("uint8", "int8")
        (dtype('float16'), dtype('int16'))
    """
    nodes = set()
    for x in (a, b):
        weak = isinstance(x, type) and x in PYTHON_SCALARS and x is not bool
        nodes.add(_node(np.dtype(as_dtype(x)), weak))
    bound = _least_upper_bound(nodes, config.frame.numpy_dtype_promotion)
    if bound == INTS[-1] and bound not in nodes and not config.frame.enable_x64:
        return INTS[5]  # uint32 and a signed integer meet at int64, which x64 off replaces by int32
    return _dtype_of_node(bound)


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype of an operation on all of ``args``: arrays, Python numbers or dtypes.

    Args:
        args: values or dtype-likes, at least one.
        return_weak_type_flag: return ``(dtype, weak)`` instead.

    Raises:
        ValueError: no arguments.
        TypeError: an argument is neither a number, an array nor a dtype.
        TypePromotionError: the types have no common type.

    Example:
        >>> result_type(np.float32(1), 2), result_type(1, 2.0, return_weak_type_flag=True)
        (dtype('float32'), (dtype('float32'), True))
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    dt, weak = promote_all(*[dtype_and_weak(x) for x in args])
    return (dt, weak) if return_weak_type_flag else dt


def check_python_int(value: int, dt: np.dtype[Any]) -> None:
    """Raise OverflowError in JAX's words if a weak Python ``value`` does not fit in ``dt``."""
    info = np.iinfo(dt)
    if not info.min <= value <= info.max:
        raise OverflowError(
            f"Python int {value} too large to convert to {dt.name}\n"
            "  Fix: give it a dtype that holds it, or enable 64-bit integers with "
            'config.update("jax_enable_x64", True).'
        )
