"""Bad input: JAX's exception class and first sentence, then the facts and a fix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import errors, lax

ONES = np.ones(3, np.float32)


def bool_of_tracer() -> Any:
    return jax.jit(lambda x: 1.0 if x > 0 else 0.0)(1.0)


def or_of_tracer() -> Any:
    return jax.jit(lambda x: x or 2.0)(1.0)


def index_of_tracer() -> Any:
    return jax.jit(lambda i: [1, 2][i])(1)


def float_of_tracer() -> Any:
    return jax.jit(lambda x: float(x))(1.0)


def numpy_of_tracer() -> Any:
    return jax.jit(lambda x: np.sin(x))(1.0)


def shape_of_tracer() -> Any:
    return jax.jit(lambda n: jnp.zeros(n))(3)


def mask_of_tracer() -> Any:
    return jax.jit(lambda x: x[x > 0])(ONES)


CASES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        bool_of_tracer,
        errors.TracerBoolConversionError,
        "Attempted boolean conversion of traced array with shape bool",
    ),
    (
        or_of_tracer,
        errors.TracerBoolConversionError,
        "Attempted boolean conversion of traced array with shape float32",
    ),
    (
        index_of_tracer,
        errors.TracerIntegerConversionError,
        r"The __index__\(\) method was called on traced array",
    ),
    (
        float_of_tracer,
        errors.ConcretizationTypeError,
        "Abstract tracer value encountered where concrete value is expected",
    ),
    (
        numpy_of_tracer,
        errors.TracerArrayConversionError,
        r"The numpy.ndarray conversion method __array__\(\) was called on traced array",
    ),
    (shape_of_tracer, TypeError, "Shapes must be 1D sequences of concrete values of integer type"),
    (
        mask_of_tracer,
        errors.NonConcreteBooleanIndexError,
        "Array boolean indices must be concrete; got bool",
    ),
    (
        lambda: jnp.ones((3, 4)) + jnp.ones(3),
        ValueError,
        r"Incompatible shapes for broadcasting: shapes=\[\(3, 4\), \(3,\)\]",
    ),
    (
        lambda: jnp.ones((3, 4)) @ jnp.ones((3, 4)),
        TypeError,
        "dot_general requires contracting dimensions to have the same shape",
    ),
    (
        lambda: jax.grad(lambda x: x)(ONES),
        TypeError,
        r"Gradient only defined for scalar-output functions. Output had shape: \(3,\)",
    ),
    (
        lambda: jax.grad(lambda x: x)(3),
        TypeError,
        "grad requires real- or complex-valued inputs .* but got int32",
    ),
    (
        lambda: jax.grad(lambda x: x * 1j)(3.0),
        TypeError,
        "grad requires real-valued outputs .* but got complex64",
    ),
    (
        lambda: jax.grad(lambda x: x, argnums=3)(1.0, 2.0),
        TypeError,
        "differentiating with respect to argnums=3 requires at least 4 positional",
    ),
    (lambda: jax.grad(3), TypeError, "Expected a callable value, got 3"),
    (
        lambda: jax.jvp(lambda x: x, (1.0,), [1.0]),
        TypeError,
        "primal and tangent arguments to jax.jvp must have the same tree structure",
    ),
    (
        lambda: jax.jvp(lambda x: x, (1.0,), (1,)),
        TypeError,
        "primal and tangent arguments to jax.jvp do not match; dtypes must be equal",
    ),
    (
        lambda: jax.jvp(lambda x: x, (ONES,), (ONES[:2],)),
        ValueError,
        "jvp called with different primal and tangent shapes",
    ),
    (
        lambda: jax.jvp(lambda x: x, 1.0, 1.0),
        TypeError,
        "primal and tangent arguments to jax.jvp must be tuples or lists",
    ),
    (
        lambda: jax.vjp(lambda x: x, ONES)[1](ONES[:2]),
        ValueError,
        r"unexpected JAX type \(e.g. shape/dtype\) for argument to VJP function: got float32\[2\]",
    ),
    (lambda: jax.vjp(lambda x: x, ONES)[1]((ONES,)), ValueError, "unexpected tree structure"),
    (
        lambda: jax.linearize(lambda x: x, ONES)[1](ONES[:2]),
        ValueError,
        "linearized function called on tangent values inconsistent",
    ),
    (
        lambda: jax.vmap(lambda a, b: a)(np.ones((8, 4)), {"b": np.ones(4)}),
        ValueError,
        "vmap got inconsistent sizes for array axes to be mapped",
    ),
    (
        lambda: jax.vmap(lambda a: a, in_axes=None)(np.ones(8)),
        ValueError,
        "vmap must have at least one non-None value in in_axes",
    ),
    (
        lambda: jax.vmap(lambda a: a, in_axes=(0, 1))(np.ones((8, 4))),
        ValueError,
        "vmap in_axes must be an int, None, or a tuple of entries",
    ),
    (
        lambda: jax.vmap(lambda a: a)(1.0),
        ValueError,
        "vmap was requested to map its argument along axis 0, which implies that its rank",
    ),
    (
        lambda: jax.vmap(lambda a: a, out_axes=None)(np.ones(8)),
        ValueError,
        "at vmap out_axes, got axis spec None but output was batched on axis 0",
    ),
    (
        lambda: lax.while_loop(lambda c: c, lambda c: c, 1.0),
        TypeError,
        "cond_fun must return a boolean scalar",
    ),
    (
        lambda: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1,), (0, 2.0)),
        TypeError,
        "while_loop body function carry input and carry output must have the same pytree structure",
    ),
    (
        lambda: lax.scan(lambda c, x: c, 0.0, ONES),
        TypeError,
        "scan body output must be a pair, got",
    ),
    (
        lambda: lax.scan(lambda c, x: ((c, c), None), 0.0, ONES),
        TypeError,
        "scan body function carry input and carry output must have the same pytree structure",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, None), 0.0, (ONES, np.ones(4))),
        ValueError,
        "scan got values with different leading axis sizes: 3, 4",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, None), 0.0, ONES, length=5),
        ValueError,
        "scan got `length` argument of 5 which disagrees",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, None), 0.0, None),
        ValueError,
        "scan got no values to scan over and `length` not provided",
    ),
    (
        lambda: lax.fori_loop(0, 3, lambda i, c: c + 0.5, jnp.int32(0)),
        TypeError,
        r"scan body function carry input and carry output must have equal types",
    ),
    (
        lambda: lax.fori_loop(0, 3, lambda i, c: c - jnp.ones(10), jnp.zeros(())),
        TypeError,
        r"has type float32\[\] but the corresponding output carry component has type float32\[10\]",
    ),
    (
        lambda: lax.fori_loop(0, 10**15, lambda i, c: c, 0),
        OverflowError,
        "An overflow was encountered",
    ),
    (
        lambda: lax.cond(True, lambda x: x, lambda x: (x, x), 1.0),
        TypeError,
        "cond branch outputs must have the same pytree structure",
    ),
    (
        lambda: lax.cond(True, lambda x: x, lambda x: jnp.int32(x), 1.0),
        TypeError,
        "cond branches must have equal output types but they differ",
    ),
    (
        lambda: lax.cond(ONES > 0, lambda x: x, lambda x: x, 1.0),
        TypeError,
        "Pred must be a scalar, got",
    ),
    (
        lambda: lax.switch(1.5, [lambda x: x, lambda x: x], 1.0),
        TypeError,
        "Index type must be an integer, got 1.5 as float32",
    ),
    (lambda: lax.switch(1, [], 1.0), ValueError, "Empty branch sequence"),
    (
        lambda: jax.grad(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * x, x))(2.0),
        ValueError,
        "Reverse-mode differentiation does not work for lax.while_loop",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), CASES, ids=[m[:40] for _, _, m in CASES])
def test_error_has_jax_class_and_first_sentence(
    call: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_tracer_error_names_argument_and_line() -> None:
    with pytest.raises(errors.TracerBoolConversionError) as caught:
        bool_of_tracer()
    text = str(caught.value)
    assert "depends on the value of the argument x" in text
    assert "test_bad_input.py" in text
    assert "Fix:" in text


@pytest.mark.parametrize(
    ("bwd", "kind", "message"),
    [
        (
            lambda r, c: (c, c),
            TypeError,
            r"got bwd output structure PyTreeDef\(\(\*, \*\)\) for primal input",
        ),
        (
            lambda r, c: c,
            TypeError,
            "in particular must produce a tuple of length equal to the number",
        ),
        (
            lambda r, c: (ONES,),
            ValueError,
            r"at output\[0\] the bwd rule produced an output of type float32\[3\]",
        ),
    ],
)
def test_custom_vjp_with_a_wrong_backward_rule(
    bwd: Any, kind: type[Exception], message: str
) -> None:
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), bwd)
    with pytest.raises(kind, match=message):
        jax.grad(f)(1.0)


def test_custom_rules_that_are_missing_or_no_pairs() -> None:
    f = jax.custom_vjp(lambda x: x)
    with pytest.raises(AttributeError, match="No VJP defined for custom_vjp function"):
        f(1.0)
    f.defvjp(lambda x: x, lambda r, c: (c,))
    with pytest.raises(TypeError, match="must produce a pair"):
        jax.grad(f)(1.0)
    h = jax.custom_jvp(lambda x: x)
    with pytest.raises(AttributeError, match="No JVP defined for custom_jvp function"):
        h(1.0)
    h.defjvp(lambda p, t: (p[0],))
    with pytest.raises(TypeError, match="must produce a pair"):
        jax.grad(h)(1.0)
    f.defvjp(lambda x: (x, None), lambda r, c: (c,))
    with pytest.raises(TypeError, match="can't apply forward-mode autodiff"):
        jax.jvp(f, (1.0,), (1.0,))


def test_allocation_over_the_limit_fails_before_it_is_tried() -> None:
    with (
        jax.settings.override(max_allocation_bytes=1000),
        pytest.raises(MemoryError, match=r"bytes|KiB|kB"),
    ):
        jax.jit(lambda x: jnp.zeros((1000, 1000)) + x)(1.0)
    with jax.settings.override(max_allocation_bytes=1000), pytest.raises(MemoryError) as caught:
        jnp.zeros((1000, 1000))
    assert "4000000 bytes for f32[1000,1000]" in str(caught.value)


def test_carry_structure_error_names_only_the_part_that_differs() -> None:
    start = {f"k{i}": [1.0] * i for i in range(8)}
    with pytest.raises(TypeError) as caught:
        lax.while_loop(lambda d: False, lambda d: dict(start, k5=[1.0] * 4), start)
    text = str(caught.value)
    assert "['k5'] is a list of length 5" in text
    assert "k1" not in text
