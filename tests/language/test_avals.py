"""Avals are interned and print as in JAX; ShapeDtypeStruct behaves as JAX's does."""

import copy
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

from jaxlite import settings
from jaxlite.language import dtypes
from jaxlite.language.avals import (
    ShapedArray,
    ShapeDtypeStruct,
    aval_of,
    aval_of_scalar,
    canonical_shape,
)

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax_oracle

SAMPLES = [
    ((3, 4), np.dtype("float32"), False),
    ((), np.dtype("float32"), True),
    ((2,), np.dtype(ml_dtypes.bfloat16), False),
    ((0, 5), np.dtype("bool"), False),
    ((1,), np.dtype("complex64"), True),
    ((7,), np.dtype("uint8"), False),
    ((2, 2), dtypes.float0, False),
    ((3,), np.dtype(ml_dtypes.int4), False),
]


def outcome(f, *args, **kwargs):
    try:
        return repr(f(*args, **kwargs))
    except Exception as e:
        return (type(e).__name__, str(e).split("\n")[0])


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_prints_and_measures_as_in_jax(sample):
    ours, theirs = ShapedArray(*sample), jax.core.ShapedArray(*sample)
    assert repr(ours) == repr(theirs)
    assert str(ours) == str(theirs)
    assert ours.str_short() == theirs.str_short(short_dtypes=True)
    assert ours.str_short(short_dtypes=False) == theirs.str_short()
    assert (ours.shape, ours.dtype, ours.weak_type) == (
        theirs.shape,
        theirs.dtype,
        theirs.weak_type,
    )
    assert (ours.ndim, ours.size) == (theirs.ndim, theirs.size)
    assert str(ours.to_tangent_aval()) == str(theirs.to_tangent_aval())
    assert str(ours.strip_weak_type()) == str(theirs.strip_weak_type())
    assert str(ours.update(shape=(9,))) == str(theirs.update(shape=(9,)))
    assert str(ours.update(weak_type=False)) == str(theirs.update(weak_type=False))


def test_key_avals_print_as_in_jax():
    ours, theirs = ShapedArray((2,), dtypes.KEY_FRY), jax.random.split(jax.random.key(0)).aval
    assert (repr(ours), str(ours)) == (repr(theirs), str(theirs))
    assert ours.str_short() == theirs.str_short(short_dtypes=True)
    assert ours.nbytes == 16
    assert ours.to_tangent_aval().dtype == dtypes.float0


def test_equal_avals_are_one_object():
    aval = ShapedArray((3, 4), np.dtype("float32"))
    assert ShapedArray([3, 4], "float32") is aval
    assert ShapedArray((np.int64(3), 4), np.float32) is aval
    assert ShapedArray(shape=(3, 4), dtype=np.dtype("float32"), weak_type=False) is aval
    assert aval.update(dtype=np.dtype("int8")).update(dtype=np.dtype("float32")) is aval
    assert pickle.loads(pickle.dumps(aval)) is aval
    assert copy.copy(aval) is copy.deepcopy([aval])[0] is aval
    assert aval.to_tangent_aval() is aval
    assert aval.strip_weak_type() is aval
    assert ShapedArray((3, 4), np.dtype("float32"), True) is not aval
    assert type(ShapedArray((np.int64(6),), "int8").shape[0]) is int


def test_equal_avals_from_many_threads_are_one_object():
    found = []
    start = threading.Barrier(4)

    def work():
        start.wait()
        found.append([ShapedArray((17, n), np.dtype("int16")) for n in range(300)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for same in zip(*found):
        assert all(aval is same[0] for aval in same)


def test_avals_cannot_be_changed():
    aval = ShapedArray((3,), "int8")
    with pytest.raises(AttributeError, match="immutable"):
        aval.shape = (4,)
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        aval.update(color=1)


@pytest.mark.parametrize("shape", [(3.5,), ("a",), (None,), "ab", None, ((1, 2), 3)], ids=str)
def test_shapes_that_are_none(shape):
    with pytest.raises(
        TypeError, match="Shapes must be 1D sequences of concrete values of integer"
    ):
        canonical_shape(shape)
    if isinstance(shape, tuple):
        assert outcome(ShapedArray, shape, "int8") == outcome(
            jax.core.ShapedArray, shape, np.dtype("int8")
        )


def test_shapes_that_are_fine():
    assert canonical_shape(3) == (3,)
    assert canonical_shape(np.array([2, 3])) == (2, 3)
    assert canonical_shape([np.int8(2), True]) == (2, 1)
    assert canonical_shape(()) == ()


def test_traced_sizes_get_the_advice_of_jax():
    class Tracer:
        aval = ShapedArray((), "int32")

    with pytest.raises(TypeError, match="static_argnums"):
        canonical_shape((Tracer(), 2))
    with pytest.raises(TypeError, match="static_argnums"):
        canonical_shape(Tracer())


@pytest.mark.parametrize("x64", [False, True])
def test_avals_of_python_numbers(x64):
    with settings.enable_x64(x64), jax.enable_x64(x64):
        for value in (True, 1, 1.5, 2j):
            ours, theirs = aval_of_scalar(value), jax.typeof(jax.numpy.asarray(value))
            assert repr(ours) == repr(theirs)
            assert aval_of(value) is ours
        assert aval_of(np.float64(1)) is ShapedArray((), "float64" if x64 else "float32")
        assert aval_of(np.zeros((2, 3), np.int8)) is ShapedArray((2, 3), "int8")
        assert aval_of(ShapeDtypeStruct((2,), "int8", weak_type=True)) is ShapedArray(
            (2,), "int8", True
        )
    with pytest.raises(TypeError, match="Cannot determine dtype"):
        aval_of([1, 2])


STRUCT_CALLS = [
    (((3, 4), "float32"), {}),
    (((3, 4), float), {}),
    (([2, 3], ml_dtypes.bfloat16), {}),
    (((3,), "int8"), {"weak_type": True}),
    (((3,), None), {}),
    ((3, "int8"), {}),
    (((3,), "foo"), {}),
    ((None, "int8"), {}),
]


@pytest.mark.parametrize(("args", "kwargs"), STRUCT_CALLS, ids=str)
def test_struct_is_made_as_in_jax(args, kwargs):
    assert outcome(ShapeDtypeStruct, *args, **kwargs) == outcome(
        jax.ShapeDtypeStruct, *args, **kwargs
    )


def test_struct_behaves_as_in_jax():
    for cls in (ShapeDtypeStruct, jax.ShapeDtypeStruct):
        s = cls((3, 4), "float32")
        assert s == cls([3, 4], np.float32)
        assert hash(s) == hash(cls((3, 4), "float32"))
        assert s != cls((3, 4), "float32", weak_type=True)
        assert s != 3
        assert (s.size, s.ndim, len(s)) == (12, 2, 3)
        assert s.update(shape=(1,)) == cls((1,), "float32")
        assert s.sharding is None
        assert str(s) == "ShapeDtypeStruct(shape=(3, 4), dtype=float32)"
        assert outcome(len, cls((), "int8")) == ("TypeError", "len() of unsized object")
        assert outcome(setattr, s, "shape", (1,)) == (
            "RuntimeError",
            "Cannot reassign attributes (shape) of immutable ShapeDtypeStruct objects",
        )
    s = ShapeDtypeStruct((3,), "int8", weak_type=True)
    assert pickle.loads(pickle.dumps(s)) == s
    assert copy.deepcopy(s) == s
    assert repr(s.update(sharding="here")) == (
        "ShapeDtypeStruct(shape=(3,), dtype=int8, sharding=here, weak_type=True)"
    )
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        s.update(color=1)
    assert repr(ShapeDtypeStruct((), dtypes.KEY_FRY)) == repr(
        jax.eval_shape(lambda: jax.random.key(0))
    )
