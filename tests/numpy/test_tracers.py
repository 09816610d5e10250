"""What a traced array cannot do, in JAX's words; and what it can."""

import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp
from jaxlite import errors

CONVERSIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "bool": (bool, 1.0),
    "and": (lambda x: x and 1, 1.0),
    "if of several": (bool, np.ones(3, np.float32)),
    "int": (int, 1),
    "float": (float, 1),
    "complex": (complex, 1),
    "list index": (lambda x: [1, 2][x], 1),
    "range": (range, 1),
    "hex": (hex, 1),
    "numpy": (lambda x: np.sin(x), 1.0),
    "asarray": (np.asarray, np.ones(3, np.float32)),
    "item": (lambda x: x.item(), 1.0),
    "tolist": (lambda x: x.tolist(), np.ones(3, np.float32)),
    "mask": (lambda x: x[x > 0], np.ones(3, np.float32)),
    "slice": (lambda x: x[x[0] :], np.arange(3)),
    "item assignment": (lambda x: x.__setitem__(0, 1), np.ones(3, np.float32)),
}


@pytest.mark.jax_oracle
@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversion_raises_jax_error(name: str) -> None:
    function, arg = CONVERSIONS[name]
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        jax.jit(function)(arg)
    with pytest.raises(Exception) as ours:  # noqa: PT011
        jaxlite.jit(function)(arg)
    bases = [base.__name__ for base in type(ours.value).__mro__]
    assert type(theirs.value).__name__ in bases
    first = str(theirs.value).split("\n")[0]
    assert str(ours.value).split("\n")[0] == first
    assert "Fix:" in str(ours.value) or name == "if of several"


def test_a_traced_value_cannot_be_hashed() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        jaxlite.jit(lambda x: {x: 1})(1.0)


def test_lists_of_traced_values_become_arrays() -> None:
    out = jaxlite.jit(lambda x: jnp.array([[x, 1], [2, x]]))(3.0)
    np.testing.assert_array_equal(np.asarray(out), [[3, 1], [2, 3]])


def test_a_traced_array_can_be_iterated() -> None:
    out = jaxlite.jit(lambda x: sum(k * row for k, row in enumerate(x)))(
        np.arange(6.0).reshape(3, 2)
    )
    np.testing.assert_array_equal(np.asarray(out), [10, 13])


def test_shape_functions_need_known_sizes() -> None:
    with pytest.raises(errors.ConcretizationTypeError, match=r"jnp\.arange argument 'stop'"):
        jaxlite.jit(jnp.arange)(3)
    with pytest.raises(errors.ConcretizationTypeError, match=r"size argument of jnp\.nonzero"):
        jaxlite.jit(jnp.nonzero)(np.arange(3))
    with pytest.raises(errors.ConcretizationTypeError, match=r"first argument of jnp.unique\(\)"):
        jaxlite.jit(jnp.unique)(np.arange(3))
    with pytest.raises(errors.ConcretizationTypeError, match=r"jnp\.repeat"):
        jaxlite.jit(lambda n: jnp.repeat(np.arange(2), n))(np.array([1, 2]))


def test_size_makes_them_traceable() -> None:
    x = np.array([0, 3, 0, 5])
    np.testing.assert_array_equal(jaxlite.jit(lambda a: jnp.nonzero(a, size=3)[0])(x), [1, 3, 0])
    np.testing.assert_array_equal(jaxlite.jit(lambda a: jnp.unique(a, size=3))(x), [0, 3, 5])
    out = jaxlite.jit(lambda a: jnp.repeat(a, a, total_repeat_length=8))(x)
    np.testing.assert_array_equal(out, np.repeat(x, x))


def test_values_of_differentiated_arrays_can_steer_python() -> None:
    assert float(jaxlite.grad(lambda x: x if x > 0 else -x)(-2.0)) == -1.0
    assert float(jaxlite.grad(lambda x: x * int(x))(2.0)) == 2.0
    grad = jaxlite.grad(lambda x: x[x > 1].sum())(np.float32([0, 2, 3]))
    np.testing.assert_array_equal(grad, [0, 1, 1])
    with pytest.raises(errors.ConcretizationTypeError):
        jaxlite.grad(lambda x: x * float(x))(2.0)


def test_eager_results_equal_jitted_results() -> None:
    def function(x: Any) -> Any:
        y = jnp.where(x > 0, x % 2, x // 3).at[1].set(5.0)
        z = jnp.concatenate([y[::-1], jnp.linspace(0, 1, 3)])
        return jnp.sort(z).reshape(2, -1), jnp.median(z), z[jnp.array([0, -1, 99])]

    x = np.float32([-4.0, 2.5, 7.0])
    for a, b in zip(function(jnp.asarray(x)), jaxlite.jit(function)(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_arrays_survive_pickle_without_sharing() -> None:
    x = jnp.array([1.5, 2.5], dtype="bfloat16")
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_numpy_data_is_copied() -> None:
    data = np.ones(3, np.float32)
    x = jnp.asarray(data)
    data[0] = 7
    np.testing.assert_array_equal(x, [1, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 7
