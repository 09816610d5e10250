"""Promotion, canonical dtypes and kinds, compared with JAX for every pair of types."""

import itertools
import pickle
import warnings

import ml_dtypes
import numpy as np
import pytest

from jaxlite import dtypes as public_dtypes
from jaxlite import numpy as jnp
from jaxlite import settings
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax_oracle

NUMPY_NAMES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
SMALL_NAMES = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]
DTYPES = [np.dtype(n) for n in NUMPY_NAMES] + [np.dtype(getattr(ml_dtypes, n)) for n in SMALL_NAMES]
PYTHON = [bool, int, float, complex]


class Weak:
    """A value with an aval, as both libraries see arrays and tracers."""

    def __init__(self, aval):
        self.aval = aval
        self.dtype = aval.dtype
        self.weak_type = aval.weak_type


def outcome(f):
    """Return ('value', x) or ('error', class name, first line)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ("value", f())
        except Exception as e:
            return ("error", type(e).__name__, str(e).splitlines()[0])


def without_order(result):
    """JAX prints the dtypes of a promotion error in the order of a set."""
    if result[0] == "error" and result[2].startswith("Input dtypes ("):
        names, _, rest = result[2].removeprefix("Input dtypes (").partition(")")
        return (*result[:2], sorted(names.split(", ")), rest)
    return result


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    with jax.enable_x64(request.param), settings.enable_x64(request.param):
        yield request.param


@pytest.fixture(params=["standard", "strict"])
def promotion(request):
    with (
        jax.numpy_dtype_promotion(request.param),
        settings.numpy_dtype_promotion(request.param),
    ):
        yield request.param


def weak_result_type_in_jax(avals):
    """Only tracers and arrays can be weak in JAX, so ask inside a trace."""
    results = []

    def ask(*tracers):
        results.append(
            outcome(lambda: jax.dtypes.result_type(*tracers, return_weak_type_flag=True))
        )
        return ()

    structs = [jax.ShapeDtypeStruct((), a.dtype, weak_type=a.weak_type) for a in avals]
    jax.eval_shape(ask, *structs)
    return results[0]


def combinations_that_differ(kinds, n):
    wrong = []
    for pairs in itertools.product(kinds, repeat=n):
        avals = [ShapedArray((), d, weak) for d, weak in pairs]
        expected = weak_result_type_in_jax(avals)
        values = [Weak(aval) for aval in avals]
        got = outcome(lambda v=values: dtypes.result_type(*v, return_weak_type_flag=True))
        if without_order(expected) != without_order(got):
            wrong.append((pairs, expected, got))
    return wrong


def test_promotion_of_every_pair_with_weak_types(x64, promotion):
    canonical = sorted({dtypes.canonicalize_dtype(d) for d in DTYPES}, key=str)
    # JAX itself fails on weak 4-bit integers (KeyError: 'V').
    kinds = [
        (d, weak) for d in canonical for weak in (False, True) if not (weak and "int4" in str(d))
    ]
    assert combinations_that_differ(kinds, 1) == []
    assert combinations_that_differ(kinds, 2) == []
    for (a, a_weak), (b, b_weak) in itertools.product(kinds, kinds):
        values = [Weak(ShapedArray((), a, a_weak)), Weak(ShapedArray((), b, b_weak))]
        assert outcome(lambda p=(a, a_weak, b, b_weak): dtypes.promote_pair(*p)) == outcome(
            lambda v=values: dtypes.result_type(*v, return_weak_type_flag=True)
        )


def test_result_type_of_three_values(promotion):
    small = ["bool", "uint8", "int8", "int32", "float16", "float32"]
    kinds = [(np.dtype(n), False) for n in [*small, "complex64", ml_dtypes.bfloat16]]
    kinds += [(np.dtype(n), True) for n in ("int32", "float32", "complex64")]
    assert combinations_that_differ(kinds, 3) == []


def test_promote_types_of_every_pair(x64, promotion):
    names = [*DTYPES, *PYTHON, np.dtype("O")]
    wrong = []
    for a, b in itertools.product(names, names):
        expected = outcome(lambda a=a, b=b: jax.numpy.promote_types(a, b))
        got = outcome(lambda a=a, b=b: dtypes.promote_types(a, b))
        if without_order(expected) != without_order(got):
            wrong.append((a, b, expected, got))
    assert wrong == []


VALUES = [
    *(True, 1, 1.5, 2j, 2**40, 2**70, None, bool, int, float, complex),
    *("float64", "int", "uint64", "bfloat16", "a", "foo"),
    *(np.float32(1), np.int64(1), np.float64(1), np.zeros(3), np.zeros(2, np.uint8)),
    *(np.dtype("f8"), np.float64, np.int8, ml_dtypes.bfloat16, np.dtype("O"), np.str_("a")),
    *([1], (1, 2), object, np.datetime64("2020-01-01"), np.array(["a"]), np.bool_(True)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:30])
def test_result_type_of_values(x64, value):
    for others in ([], [1], [np.int8(1)], [np.float16(1)]):
        expected = outcome(
            lambda o=others: jax.dtypes.result_type(value, *o, return_weak_type_flag=True)
        )
        got = outcome(lambda o=others: dtypes.result_type(value, *o, return_weak_type_flag=True))
        assert got == expected


def test_result_type_of_nothing():
    with pytest.raises(ValueError, match="at least one array or dtype is required"):
        dtypes.result_type()


def test_subclasses_of_python_numbers_are_not_weak():
    class MyFloat(float):
        pass

    class MyInt(int):
        pass

    for value in (MyFloat(1.0), MyInt(1)):
        assert dtypes.result_type(value, return_weak_type_flag=True) == jax.dtypes.result_type(
            value, return_weak_type_flag=True
        )
        assert not dtypes.is_weakly_typed(value)


class HasDtype:
    dtype = np.dtype("float64")
    weak_type = True


@pytest.mark.parametrize("value", [HasDtype(), HasDtype], ids=["instance", "class"])
def test_objects_with_a_dtype_count_as_not_weak(value):
    assert dtypes.result_type(value, return_weak_type_flag=True) == jax.dtypes.result_type(
        value, return_weak_type_flag=True
    )


@pytest.mark.parametrize(
    "name", [*DTYPES, *PYTHON, None, "O", "foo", "M8[s]", np.str_, np.float32, ml_dtypes.bfloat16]
)
def test_canonicalize_dtype(x64, name):
    assert outcome(lambda: dtypes.canonicalize_dtype(name)) == outcome(
        lambda: jax.dtypes.canonicalize_dtype(name)
    )


def test_canonicalize_extended_dtype():
    key = dtypes.KEY_FRY
    theirs = jax.random.key(0).dtype
    assert outcome(lambda: dtypes.canonicalize_dtype(key)) == outcome(
        lambda: jax.dtypes.canonicalize_dtype(theirs)
    )
    assert dtypes.canonicalize_dtype(key, allow_extended_dtype=True) is key
    assert dtypes.canonicalize_dtype(dtypes.prng_key, allow_extended_dtype=True) is dtypes.prng_key


def test_requested_dtype_warns_in_jax_words(x64):
    for name in ("float64", np.float64, np.dtype("int64"), "complex128", float, int, "float32"):
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            theirs = jax.numpy.zeros((), name).dtype
        with warnings.catch_warnings(record=True) as got:
            warnings.simplefilter("always")
            ours = dtypes.requested_dtype(name, "zeros")
        assert ours == theirs
        assert [w.category for w in got] == [w.category for w in expected]
        for mine, his in zip(got, expected):
            assert str(his.message).startswith(str(mine.message))


KINDS = [np.bool_, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating]
KINDS += [np.complexfloating, np.number, np.generic]
KEY_KINDS = ["prng_key", "extended"]


def test_issubdtype_of_every_pair():
    key = jax.random.key(0).dtype
    pairs = [(d, d) for d in [*DTYPES, *(d.type for d in DTYPES), *KINDS, *PYTHON, object]]
    pairs += [(dtypes.KEY_FRY, key), (dtypes.float0, jax.dtypes.float0)]
    pairs += [(getattr(dtypes, n), getattr(jax.dtypes, n)) for n in KEY_KINDS]
    wrong = []
    for (a, their_a), (b, their_b) in itertools.product(pairs, pairs):
        expected = outcome(lambda a=their_a, b=their_b: bool(jax.dtypes.issubdtype(a, b)))
        got = outcome(lambda a=a, b=b: bool(dtypes.issubdtype(a, b)))
        if expected != got:
            wrong.append((a, b, expected, got))
    assert wrong == []


@pytest.mark.parametrize("bad", [3, "foo", 2.5])
def test_issubdtype_of_no_dtype(bad):
    assert outcome(lambda: dtypes.issubdtype(bad, np.floating)) == outcome(
        lambda: jax.dtypes.issubdtype(bad, np.floating)
    )


@pytest.mark.parametrize(
    "value", [True, 1, 1.0, 1j, np.float32(1), "float32", ml_dtypes.bfloat16, np.int8, np.zeros(2)]
)
def test_scalar_type_of(value):
    assert dtypes.scalar_type_of(value) is jax.dtypes.scalar_type_of(value)


def test_scalar_type_of_no_number():
    with pytest.raises(TypeError, match="Invalid scalar value"):
        dtypes.scalar_type_of(dtypes.float0)


@pytest.mark.parametrize("name", [*DTYPES, np.dtype(ml_dtypes.int2), bool, np.dtype("O")])
def test_itemsize_bits(name):
    assert outcome(lambda: dtypes.itemsize_bits(name)) == outcome(
        lambda: jax.dtypes.itemsize_bits(name)
    )


def test_itemsize_bits_of_keys():
    with pytest.raises(ValueError, match="unexpected input: dtype=key<fry>"):
        dtypes.itemsize_bits(dtypes.KEY_FRY)


@pytest.mark.parametrize("dtype", [*DTYPES, np.dtype(ml_dtypes.int2), dtypes.float0], ids=str)
def test_short_names_are_those_of_jaxprs(dtype):
    theirs = jax.core.ShapedArray((), dtype).str_short(short_dtypes=True)
    assert f"{dtypes.short_name(dtype)}[]" == theirs


def test_to_inexact_dtype_is_that_of_sin(x64):
    for name in NUMPY_NAMES:
        dtype = dtypes.canonicalize_dtype(name)
        theirs = jax.eval_shape(jax.numpy.sin, jax.ShapeDtypeStruct((), dtype)).dtype
        assert dtypes.to_inexact_dtype(dtype) == theirs


def test_to_real_and_complex_dtype():
    assert dtypes.to_real_dtype(np.dtype("complex64")) == np.float32
    assert dtypes.to_real_dtype(np.dtype("complex128")) == np.float64
    assert dtypes.to_real_dtype(np.dtype("float16")) == np.float16
    assert dtypes.to_complex_dtype(np.dtype("float16")) == np.complex64
    assert dtypes.to_complex_dtype(np.dtype("int64")) == np.complex64
    assert dtypes.to_complex_dtype(np.dtype("float64")) == np.complex128
    with settings.enable_x64(True):
        assert dtypes.to_complex_dtype(np.dtype("int64")) == np.complex128


def test_weakness_of_values():
    assert [dtypes.is_weakly_typed(v) for v in (1, 1.0, 1j, True, np.float32(1), np.zeros(1))] == [
        *(True, True, True, False, False, False)
    ]
    assert dtypes.is_weakly_typed(ShapedArray((), np.dtype("float32"), True))


def test_kind_of_counts_bfloat16_as_float():
    kinds = {dtypes.kind_of(np.dtype(n)) for n in ("float16", "float32", ml_dtypes.bfloat16)}
    assert kinds == {"f"}
    assert [dtypes.kind_of(d) for d in (dtypes.KEY_FRY, dtypes.float0, np.dtype("O"))] == [
        *("k", "0", "O")
    ]
    assert dtypes.kind_of(np.dtype(ml_dtypes.uint4)) == "u"


def test_key_dtype():
    key = dtypes.KEY_FRY
    theirs = jax.random.key(0).dtype
    assert repr(key) == str(key) == str(theirs)
    assert key.itemsize == theirs.itemsize
    assert key.name == theirs.name
    assert dtypes.storage_dtype(key) == np.uint64
    assert dtypes.storage_dtype(np.dtype("int8")) == np.int8
    assert pickle.loads(pickle.dumps(key)) is key
    assert dtypes.KeyDType("key<fry>") is key
    keys = Weak(ShapedArray((), key))
    assert outcome(lambda: dtypes.result_type(keys, np.float32(1))) == outcome(
        lambda: jax.dtypes.result_type(jax.random.key(0), np.float32(1))
    )
    assert dtypes.result_type(keys, keys) is key
    assert dtypes.dtype(key) is key


def test_python_int_that_does_not_fit_has_jax_error(x64):
    dtype = dtypes.default_dtype(int)
    for value in (2**31, -(2**31) - 1, 2**63, 2**70, 7):
        expected = outcome(lambda v=value: jax.numpy.asarray(v).dtype)
        got = outcome(lambda v=value: dtypes.check_python_int(v, dtype) or dtype)
        assert got == expected


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e4m3fn", float, "complex64"])
def test_finfo(name):
    assert repr(dtypes.finfo(name)) == repr(jax.dtypes.finfo(name))


def test_result_follows_the_settings_not_the_cache():
    pair = (np.dtype("uint32"), False, np.dtype("int32"), False)
    assert dtypes.promote_pair(*pair) == (np.dtype("int32"), False)
    with settings.enable_x64(True):
        assert dtypes.promote_pair(*pair) == (np.dtype("int64"), False)
    with (
        settings.numpy_dtype_promotion("strict"),
        pytest.raises(dtypes.TypePromotionError, match="strict"),
    ):
        dtypes.promote_pair(*pair)
    assert dtypes.promote_pair(*pair) == (np.dtype("int32"), False)


def test_public_module_has_every_name_of_jax():
    assert {n for n in dir(jax.dtypes) if not n.startswith("_")} <= set(public_dtypes.__all__)
    assert all(hasattr(public_dtypes, name) for name in public_dtypes.__all__)


def test_what_happens_to_64_bits_that_were_asked_for_is_a_setting() -> None:
    with settings.override(explicit_x64_dtypes="error"):
        with pytest.raises(ValueError, match="Explicitly requested dtype float64 requested in ze"):
            jnp.zeros(2, "float64")
        assert jnp.zeros(2, float).dtype == np.float32
    with settings.override(explicit_x64_dtypes="allow"):
        wide = jnp.zeros(2, "float64")
        assert [x.dtype.name for x in (wide, wide + 1.0, jnp.zeros(2) + wide)] == ["float64"] * 3
        assert (jnp.zeros(2, "float32") + np.zeros(2)).dtype == np.float32
