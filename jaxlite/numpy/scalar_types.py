"""Dtypes as objects: ``jnp.float32`` names a dtype and makes arrays of it. In: a value.

Out: an array.

Each is a class without instances whose ``dtype`` attribute NumPy reads, so that ``x.dtype ==
jnp.float32``, ``np.zeros(3, jnp.float32)`` and ``jnp.float32(3)`` all work.
"""

from __future__ import annotations

import builtins
from typing import Any

import ml_dtypes
import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.numpy.creation import asarray


class ScalarType(type):
    """Class of ``jnp.float32`` and the like."""

    dtype: np.dtype[Any]

    def __call__(cls, x: Any = 0) -> Value:
        return asarray(x, dtype=cls.dtype)

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> builtins.bool:
        return cls is other or cls.dtype.type == other or cls.dtype == other

    def __ne__(cls, other: object) -> builtins.bool:
        return not cls == other

    def __instancecheck__(cls, instance: Any) -> builtins.bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'jaxlite.numpy.{cls.__name__}'>"

    def __reduce__(cls) -> Any:
        return cls.__name__


def _scalar_type(scalar: Any, name: str | None = None) -> ScalarType:
    dtype = np.dtype(scalar)
    name = name or dtype.name
    text = f"The dtype {dtype.name}; called with a value it makes an array of it."
    return ScalarType(name, (object,), {"dtype": dtype, "__doc__": text, "__module__": __name__})


bool_ = _scalar_type(np.bool_, "bool")
bool = bool_
int8 = _scalar_type(np.int8)
int16 = _scalar_type(np.int16)
int32 = _scalar_type(np.int32)
int64 = _scalar_type(np.int64)
uint8 = _scalar_type(np.uint8)
uint16 = _scalar_type(np.uint16)
uint32 = _scalar_type(np.uint32)
uint64 = _scalar_type(np.uint64)
float16 = _scalar_type(np.float16)
bfloat16 = _scalar_type(ml_dtypes.bfloat16)
float32 = _scalar_type(np.float32)
float64 = _scalar_type(np.float64)
complex64 = _scalar_type(np.complex64)
complex128 = _scalar_type(np.complex128)
int2 = _scalar_type(ml_dtypes.int2)
int4 = _scalar_type(ml_dtypes.int4)
uint2 = _scalar_type(ml_dtypes.uint2)
uint4 = _scalar_type(ml_dtypes.uint4)
float8_e3m4 = _scalar_type(ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type(ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type(ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type(ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type(ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type(ml_dtypes.float8_e5m2fnuz)
# Types that only newer releases of ml_dtypes have.
_RARE = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e8m0fnu", "int1", "uint1")
for _name in _RARE:
    if hasattr(ml_dtypes, _name):
        globals()[_name] = _scalar_type(getattr(ml_dtypes, _name))
int_ = int64
uint = uint64
float_ = float64
complex_ = complex128
single, double, csingle, cdouble = float32, float64, complex64, complex128

# Kinds, for ``issubdtype``.
generic, number, integer = np.generic, np.number, np.integer
signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger
inexact, floating, complexfloating = np.inexact, np.floating, np.complexfloating
character, flexible, object_ = np.character, np.flexible, np.object_
dtype = np.dtype
finfo, iinfo = dtypes.finfo, dtypes.iinfo
ComplexWarning = np.exceptions.ComplexWarning

#: Kinds of ``isdtype`` and the letters of ``kind_of`` they stand for.
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> Any:
    """Return whether ``dtype`` is of ``kind``: a dtype, or a name such as "integral".

    Raises:
        ValueError: an unknown name.

    Example:
        >>> isdtype("float32", "real floating"), isdtype("int8", ("bool", "unsigned integer"))
        (True, False)
    """
    given = dtypes.as_dtype(dtype)
    for option in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(option, str) and option in _KINDS:
            if dtypes.kind_of(given) in _KINDS[option]:
                return True
            continue
        try:
            if dtypes.as_dtype(option) == given:
                return True
        except TypeError:
            raise ValueError(
                f"Unrecognized kind={option!r} expected one of {list(_KINDS)}, or a compatible "
                "input "
                "for jnp.dtype()"
            ) from None
    return False


def issubdtype(arg1: Any, arg2: Any) -> Any:
    """Return whether a dtype is (of) another kind, bfloat16 and keys included.

    Example:
        >>> issubdtype(bfloat16, floating)
        True
    """
    return dtypes.issubdtype(_plain(arg1), _plain(arg2))


def _plain(kind: Any) -> Any:
    return kind.dtype if isinstance(kind, ScalarType) else kind


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> Any:
    """Return whether NumPy's rules let a dtype be cast to another."""
    return np.can_cast(_plain(from_), _plain(to), casting)


def promote_types(a: Any, b: Any) -> Any:
    """Return the dtype of an operation on two dtypes, by JAX's lattice."""
    return dtypes.canonicalize_dtype(dtypes.promote_types(_plain(a), _plain(b)))


def result_type(*args: Any) -> Any:
    """Return the dtype of an operation on values or dtypes.

    Example:
        >>> result_type(np.int32(1), 2.0)
        dtype('float32')
    """
    return dtypes.result_type(*map(_plain, args))


__all__ = [
    "ComplexWarning",
    "ScalarType",
    "bfloat16",
    "bool",
    "bool_",
    "can_cast",
    "cdouble",
    "character",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "finfo",
    "flexible",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float16",
    "float32",
    "float64",
    "float_",
    "floating",
    "generic",
    "iinfo",
    "inexact",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "isdtype",
    "issubdtype",
    "number",
    "object_",
    "promote_types",
    "result_type",
    "signedinteger",
    "single",
    "uint",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]  # fmt: skip
__all__ += [name for name in _RARE if name in globals()]
