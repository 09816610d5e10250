"""Transformed jitted functions can be jitted again: they are functions of their own."""

import numpy as np

import jaxlite


def test_jit_of_transformed_jitted_functions() -> None:
    f = jaxlite.jit(lambda x: x**2)
    x = np.float32(3)
    assert jaxlite.jit(jaxlite.grad(f))(x) == 6
    assert jaxlite.jit(jaxlite.grad(jaxlite.jit(jaxlite.grad(f))))(x) == 2
    assert jaxlite.jit(jaxlite.value_and_grad(f))(x) == (9, 6)
    assert jaxlite.jit(jaxlite.jacfwd(f))(x) == 6
    assert jaxlite.jit(jaxlite.hessian(f))(x) == 2
    assert jaxlite.jit(jaxlite.checkpoint(f))(x) == 9
    mapped = jaxlite.jit(jaxlite.vmap(f))
    np.testing.assert_array_equal(np.asarray(mapped(np.float32([1, 2]))), [1, 4])
    assert mapped.__wrapped__.__wrapped__ is f
