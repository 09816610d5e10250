"""What the array API standard asks of ``jaxlite.numpy``, where JAX has it."""

from __future__ import annotations

import inspect

import jax
import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp

pytestmark = pytest.mark.jax_oracle


@pytest.mark.parametrize("x64", [False, True])
def test_the_namespace_describes_itself(x64: bool) -> None:
    with jaxlite.enable_x64(x64), jax.enable_x64(x64):
        ours, theirs = (lib.numpy.__array_namespace_info__() for lib in (jaxlite, jax))
        assert ours.capabilities() == theirs.capabilities()
        assert ours.default_dtypes() == theirs.default_dtypes()
        assert ours.default_device() is None
        assert ours.devices() == [None, *jaxlite.devices()]
        for kind in (None, "bool", "integral", "real floating", ("bool", "complex floating")):
            assert ours.dtypes(kind=kind) == theirs.dtypes(kind=kind)
        with pytest.raises(KeyError):
            ours.dtypes(kind="some")


def test_data_goes_to_other_libraries_with_the_arguments_of_the_standard() -> None:
    assert set(inspect.signature(jnp.ones(2).__dlpack__).parameters) == {
        *("stream", "max_version", "dl_device", "copy")
    }
    x = jnp.arange(3)
    np.testing.assert_array_equal(np.from_dlpack(x), x)
    assert x.__dlpack_device__() == np.ones(1).__dlpack_device__()


def test_running_sums_are_as_wide_as_sums() -> None:
    for name in ("bool", "int8", "uint16", "float16"):
        x = np.ones(3, name)
        for function in ("cumulative_sum", "cumulative_prod"):
            ours, theirs = (getattr(lib.numpy, function)(x) for lib in (jaxlite, jax))
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)


def test_expm1_of_a_complex_number_that_is_real_stays_real() -> None:
    z = np.complex64([complex(-0.0, 0), complex(np.inf, 0), complex(np.nan, 0), 1 - 0j, 0.5 + 1j])
    ours, theirs = (np.asarray(lib.numpy.expm1(z)) for lib in (jaxlite, jax))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert (np.signbit(ours.real) == np.signbit(theirs.real)).all()
    np.testing.assert_allclose(jaxlite.jit(jnp.expm1)(z), theirs, rtol=1e-6)
