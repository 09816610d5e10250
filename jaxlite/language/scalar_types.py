"""Types of array elements. In: anything that names a dtype. Out: ``np.dtype``, its kind, its names.

Every dtype in jaxlite is an ``np.dtype`` (NumPy's, or ml_dtypes' such as bfloat16), except the
types of random keys such as ``KEY_FRY``, instances of ``KeyDType``. ``np.dtype.kind`` is ``'V'``
for bfloat16, so code asks ``kind_of`` or ``issubdtype`` instead. How types combine: ``dtypes.py``.
"""

import warnings
from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy as np

from jaxlite.settings import config


class extended(np.generic):
    """Kind of all dtypes that NumPy does not know; only for ``issubdtype``."""


class prng_key(extended):
    """Kind of random-key dtypes: ``issubdtype(keys.dtype, prng_key)`` is True."""


class KeyDType:
    """Dtype of random keys: two or four uint32 words, kept as one element of 64 or 128 bits.

    Two words are a uint64, the first word in the high half. Four are the bytes of a complex128:
    operations that move elements move them, and nothing calculates with them.
    """

    __slots__ = ("itemsize", "n_words", "name", "storage")
    type = prng_key
    kind: Final = "k"

    _interned: "dict[str, KeyDType]" = {}  # noqa: RUF012
    name: str
    n_words: int
    itemsize: int
    storage: np.dtype[Any]

    def __new__(cls, name: str) -> "KeyDType":
        found = cls._interned.get(name)
        if found is None:
            found = super().__new__(cls)
            found.name = name
            found.n_words = 2 if name == "key<fry>" else 4
            found.itemsize = 4 * found.n_words
            found.storage = np.dtype("uint64" if found.n_words == 2 else "complex128")
            found = cls._interned.setdefault(name, found)
        return found

    @property
    def tag(self) -> str:
        """The name of the generator in the dtype's name: ``key<fry>`` has the tag ``fry``."""
        return self.name[4:-1]

    def element(self, word: int) -> Any:
        """Return, as a scalar of the storage dtype, a key whose words are all ``word``."""
        return np.full(self.n_words, word, np.uint32).view(self.storage)[0]

    def __reduce__(self) -> "tuple[Any, ...]":
        return KeyDType, (self.name,)

    def __repr__(self) -> str:
        return self.name


KEY_FRY: Final = KeyDType("key<fry>")
KEY_RBG: Final = KeyDType("key<rbg>")
KEY_UNSAFE_RBG: Final = KeyDType("key<urbg>")

DType: TypeAlias = np.dtype[Any] | KeyDType

bfloat16: Final = ml_dtypes.bfloat16
finfo: Final[Any] = ml_dtypes.finfo
iinfo: Final[Any] = ml_dtypes.iinfo
#: Type of the tangents of integers and bools: they carry no information.
float0: Final = np.dtype([("float0", np.void, 0)])

BOOL: Final = np.dtype(np.bool_)
SMALL_INTS: Final = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in ("int1", "uint1", "int2", "uint2", "int4", "uint4")
    if hasattr(ml_dtypes, name)  # int1 came with ml_dtypes 0.6
)
SMALL_FLOATS: Final = tuple(
    np.dtype(getattr(ml_dtypes, name))
    for name in sorted(vars(ml_dtypes))
    if name.startswith(("float4_", "float6_", "float8_"))
)
INTS: Final = tuple(np.dtype(f"{u}int{bits}") for bits in (8, 16, 32, 64) for u in ("u", ""))
_BF16: Final = np.dtype(bfloat16)
FLOATS: Final = (_BF16, *(np.dtype(f"float{bits}") for bits in (16, 32, 64)))
COMPLEXES: Final = (np.dtype("complex64"), np.dtype("complex128"))

KINDS: Final[dict[Any, str]] = {
    BOOL: "b",
    **{d: d.name[0] for d in (*INTS, *SMALL_INTS)},
    **dict.fromkeys((*FLOATS, *SMALL_FLOATS), "f"),
    **dict.fromkeys(COMPLEXES, "c"),
    float0: "0",
    **dict.fromkeys((KEY_FRY, KEY_RBG, KEY_UNSAFE_RBG), "k"),
}
_NARROWED: Final = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}
#: Python's scalar types and the dtypes they have when nothing narrows them.
PYTHON_SCALARS: Final[dict[Any, np.dtype[Any]]] = {
    bool: BOOL,
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}
SCALAR_OF_KIND: Final[dict[str, type]] = {
    "b": bool,
    "i": int,
    "u": int,
    "f": float,
    "c": complex,
}


def kind_of(dt: DType) -> str:
    """Return one letter: b(ool) i(nt) u(int) f(loat) c(omplex) k(ey) 0 (float0), else NumPy's.

    Example:
        >>> kind_of(np.dtype(bfloat16)), np.dtype(bfloat16).kind
        ('f', 'V')
    """
    found = KINDS.get(dt)
    return dt.kind if found is None else found


def storage_dtype(dt: DType) -> np.dtype[Any]:
    """Return the dtype of the buffer that holds elements of ``dt``: a number's for keys."""
    return dt.storage if isinstance(dt, KeyDType) else dt


def bit_width(dt: Any) -> int:
    """Return the number of bits of one element, for example 4 for int4 and 16 for bfloat16."""
    dt = as_dtype(dt)
    name = dt.name
    if dt in SMALL_INTS or (dt in SMALL_FLOATS):
        return int(name.lstrip("uintfloa").split("_")[0])
    return int(dt.itemsize) * 8


def itemsize_bits(dtype: Any) -> int:
    """Return the number of bits of one element; ValueError for dtypes that are no numbers.

    Example:
        >>> itemsize_bits("bfloat16"), itemsize_bits("int4")
        (16, 4)
    """
    dt = as_dtype(dtype)
    if kind_of(dt) not in SCALAR_OF_KIND:
        raise ValueError(f"unexpected input: dtype={dt!r}")
    return 8 if dt == BOOL else bit_width(dt)


_short_names: dict[Any, str] = {}


def short_name(dt: DType) -> str:
    """Return the name used in jaxprs: f32, i32, u8, bool, c64, bf16, key<fry>, float0."""
    short = _short_names.get(dt)
    if short is None:
        short = name_of(dt)
        if dt != float0 and kind_of(dt) in SCALAR_OF_KIND:
            for word in ("float", "uint", "int", "complex"):
                short = short.replace(word, word[0])
        _short_names[dt] = short
    return short


def name_of(dt: DType) -> str:
    """Return the long name: float32, bfloat16, key<fry>, float0."""
    return "float0" if dt == float0 else dt.name


_dtype_of: dict[Any, Any] = {}


def as_dtype(x: Any) -> Any:
    """Return the dtype that ``x`` names (type, string, dtype, None is float64), or TypeError."""
    if isinstance(x, (np.dtype, KeyDType)):
        return x
    try:
        found = _dtype_of.get(x)
    except TypeError:  # unhashable, such as a list of fields; let NumPy judge
        return np.dtype(x)
    if found is None:
        found = np.dtype(getattr(x, "dtype", x) if not isinstance(x, (type, str)) else x)
        if isinstance(x, (type, str)):
            _dtype_of[x] = found
    return found


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Return the dtype that arrays of ``dtype`` really have: 64-bit types shrink unless x64 is on.

    Args:
        dtype: anything that names a dtype.
        allow_extended_dtype: return key dtypes unchanged instead of raising.

    Raises:
        ValueError: an extended dtype that is not allowed.
        TypeError: ``dtype`` names no dtype.

    Example:
        >>> canonicalize_dtype("float64")
        dtype('float32')
    """
    if isinstance(dtype, KeyDType) or (isinstance(dtype, type) and issubclass(dtype, extended)):
        if allow_extended_dtype:
            return dtype
        raise ValueError(
            f"Internal: canonicalize_dtype called on extended dtype {dtype} "
            "with allow_extended_dtype=False"
        )
    dt = as_dtype(dtype)
    return dt if config.frame.enable_x64 else _NARROWED.get(dt, dt)


def requested_dtype(dtype: Any, where: str) -> Any:
    """Return the canonical form of a dtype that the user wrote; UserWarning if it is narrower.

    The setting ``explicit_x64_dtypes`` makes the warning an error, or leaves the dtype wide.

    Args:
        dtype: what the user wrote. Python's ``int``, ``float`` and ``complex`` never warn.
        where: the function it was written in, for the message.

    Raises:
        TypeError: values of that dtype cannot be in an array.
        ValueError: it would be narrowed, and ``explicit_x64_dtypes`` is "error".
    """
    if isinstance(dtype, KeyDType):
        return dtype
    dt = as_dtype(dtype)
    if dt.kind in "OSUMm" or (dt.names is not None and dt != float0):
        raise TypeError(
            f"JAX only supports number, bool, and string dtypes, got dtype {dtype} in {where}"
        )
    if config.frame.enable_x64 or dt not in _NARROWED:
        return dt
    narrow = _NARROWED[dt]
    if not isinstance(dtype, type) or dtype not in PYTHON_SCALARS:
        mode = config.frame.explicit_x64_dtypes
        if mode == "allow":
            return dt
        if mode == "error":
            raise ValueError(
                f"Explicitly requested dtype {dt.name} requested in {where} is not available. To "
                "enable more dtypes, set the jax_enable_x64 or allow_explicit_x64_dtypes "
                "configuration options."
            )
        warnings.warn(
            f"Explicitly requested dtype {dt.name} requested in {where} is not available, and "
            f"will be truncated to dtype {narrow.name}. To enable more dtypes, set the "
            "jax_enable_x64 configuration option or the JAX_ENABLE_X64 shell environment variable.",
            UserWarning,
            stacklevel=3,
        )
    return narrow


def default_dtype(kind: type) -> np.dtype[Any]:
    """Return the canonical dtype of Python's ``bool``, ``int``, ``float`` or ``complex``."""
    dt = PYTHON_SCALARS[kind]
    return dt if config.frame.enable_x64 else _NARROWED.get(dt, dt)


_ABSTRACT: Final = frozenset(
    {
        *(np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger),
        *(np.inexact, np.floating, np.complexfloating),
    }
)
_NUMPY_SUPERTYPE: Final[dict[str, type]] = {
    "b": np.bool_,
    "i": np.signedinteger,
    "u": np.unsignedinteger,
    "f": np.floating,
    "c": np.complexfloating,
}


def issubdtype(a: Any, b: Any) -> bool:
    """Return whether dtype ``a`` is ``b`` or of kind ``b``; knows bfloat16 and keys.

    Example:
        >>> issubdtype("bfloat16", np.floating), issubdtype(KEY_FRY, prng_key)
        (True, True)
        >>> issubdtype("int8", np.inexact)
        False
    """
    if isinstance(a, KeyDType):
        return a is b if isinstance(b, KeyDType) else issubdtype(prng_key, b)
    if isinstance(a, type) and issubclass(a, extended):
        return isinstance(b, type) and b is not object and issubclass(a, b)
    if isinstance(b, KeyDType):
        return False
    if a in _ABSTRACT:
        return np.issubdtype(a, b if isinstance(b, type) else as_dtype(b))
    dt = as_dtype(a)
    if isinstance(b, type) and issubclass(b, np.generic) and dt in KINDS:
        supertype = _NUMPY_SUPERTYPE.get(KINDS[dt])
        if supertype is not None and issubclass(supertype, b):
            return True
    return np.issubdtype(dt, b if isinstance(b, type) else as_dtype(b))


def to_inexact_dtype(dt: DType) -> Any:
    """Return ``dt`` if it is float or complex, else the float type that functions like sin use."""
    if kind_of(dt) not in "biu":
        return dt
    wide = config.frame.enable_x64 and dt.itemsize == 8
    return np.dtype("float64" if wide else "float32")


def to_real_dtype(dt: DType) -> Any:
    """Return the dtype of the real part: float32 for complex64, else ``dt``."""
    return {"complex64": FLOATS[2], "complex128": FLOATS[3]}.get(dt.name, dt)


def to_complex_dtype(dt: DType) -> Any:
    """Return complex128 for float64 (and for 64-bit integers under x64), else complex64."""
    inexact = to_inexact_dtype(dt)
    return COMPLEXES[inexact.name in ("float64", "complex128")]


def is_python_scalar(x: Any) -> bool:
    """Return whether the type of ``x`` is exactly Python's bool, int, float or complex."""
    return type(x) in PYTHON_SCALARS
