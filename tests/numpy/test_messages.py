"""The words a user sees: JAX's first sentence, the facts, a fix with the user's own code."""

import numpy as np
import pytest

import jaxlite.numpy as jnp


def test_item_assignment_shows_the_users_index() -> None:
    a = jnp.zeros((3, 3))
    with pytest.raises(TypeError, match="JAX arrays are immutable") as caught:
        a[1, :] = 1.0
    assert "Fix: a = a.at[1, :].set(1.0)" in str(caught.value)
    assert "shape [3, 3] and dtype float32" in str(caught.value)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (0, "0"),
        (slice(None, None, 2), "::2"),
        (slice(1, None), "1:"),
        ((..., -1), "..., -1"),
        ((0, None), "0, None"),
        (np.arange(3), "index"),
    ],
)
def test_index_as_written(index: object, text: str) -> None:
    a = jnp.zeros((3, 3))
    with pytest.raises(TypeError) as caught:
        a[index] = 0
    assert f"a.at[{text}].set(0)" in str(caught.value)


def test_sum_of_a_list_shows_the_list() -> None:
    with pytest.raises(TypeError) as caught:
        jnp.sum([1, 2, 3])
    assert str(caught.value).startswith(
        "sum requires ndarray or scalar arguments, got <class 'list'> at position 0."
    )
    assert "Fix: jnp.sum(jnp.array([1, 2, 3]))" in str(caught.value)


def test_shapes_that_do_not_broadcast_name_the_axis() -> None:
    with pytest.raises(ValueError, match="Incompatible shapes") as caught:
        jnp.ones((3, 4)) + jnp.ones(3)
    assert "add of arrays with shapes [3, 4] and [3]." in str(caught.value)
    assert "4 and 3 differ and neither is 1" in str(caught.value)
    assert "v[:, None] has shape [3,1]" in str(caught.value)


def test_deleting_an_element_names_delete() -> None:
    with pytest.raises(TypeError, match=r"jnp\.delete\(a, 0\)"):
        del jnp.zeros(3)[0]


def test_traced_slice_names_dynamic_slice() -> None:
    jit = pytest.importorskip("jaxlite").jit
    with pytest.raises(IndexError, match=r"lax\.dynamic_slice_in_dim"):
        jit(lambda x, i: x[i : i + 2])(np.arange(5), 1)


def test_out_of_range_python_integers_are_named() -> None:
    with pytest.raises(
        OverflowError, match="Python int 1099511627776 too large to convert to int32"
    ):
        jnp.arange(3) + 2**40
