"""``teach.check`` names the mistake that was made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.teach import Verdict, check

X = np.arange(1.0, 5.0, dtype=np.float32)
M = np.arange(1.0, 10.0, dtype=np.float32).reshape(3, 3)

RIGHT = {
    "rounding": (X * np.float32(1 + 3e-6), X),
    "numpy for jaxlite": (X, jnp.asarray(X)),
    "a tree": ({"w": [X, 2]}, {"w": [jnp.asarray(X), 2]}),
    "text": ("f32[3]", "f32[3]"),
    "None": (None, None),
    "a tuple of flags": ((True, False), (True, False)),
    "a Python number for a scalar": (2.5, jnp.float32(2.5)),
    "NaN where it is expected": (np.array([np.nan, 1.0]), np.array([np.nan, 1.0])),
    "an infinite value": (np.array([np.inf, 1.0]), np.array([np.inf, 1.0])),
    "half precision": (jnp.bfloat16(1.01), jnp.bfloat16(1.0)),
    "a type alone": (jnp.zeros(3), jax.ShapeDtypeStruct((3,), jnp.float32)),
    "a key": (jax.random.key(3), jax.random.key(3)),
    "a set": ({"tanh", "mul"}, {"mul", "tanh"}),
    "noise near zero": (np.array([1e-9, 1.0]), np.array([0.0, 1.0])),
    "complex": (jnp.array([1 + 2j]), jnp.array([1 + 2j])),
}
WRONG = {
    "None": (None, X, "The answer is None. Does the function return its result?"),
    "shape": (X[:2], X, "The shape is [2], expected [4]."),
    "opposite axes": (np.ones((2, 3)), np.ones((3, 2)), "(the axes are in the opposite order)."),
    "dtype": (jnp.arange(4), X, "The dtype is int32, expected float32."),
    "sign": (-X, X, "Every value has the opposite sign."),
    "sign of a number": (-2.0, 2.0, "The sign is opposite."),
    "factor": (2 * X, X, "Every value is 2 times the expected one."),
    "factor 1/n": (X / 4, X, "Every value is 0.25 times the expected one."),
    "transposed": (M.T, M, "The matrix is transposed."),
    "NaN": (X * np.float32(np.nan), X, "4 of 4 values are NaN, expected numbers."),
    "one element": (X + np.eye(4, dtype="f")[2], X, "1 of 4 values differ, the first at [2]: 4,"),
    "a number": (3, 5, "The answer is 3, expected 5."),
    "all zero": (X, X * 0, "4 of 4 values differ"),
    "a flag": (True, False, "The answer is True, expected False."),
    "text": ("b", "a", "The answer is 'b'."),
    "a number for text": (2, "a", "The answer is 2, expected 'a'."),
    "text for a number": ("2", 2, "The answer is '2', expected 2."),
    "a function for an array": (jnp.sum, X, "The answer is the function sum, expected f32[4]."),
    "a list for an array": ([1.0, 2.0], X, "The answer is a list, expected f32[4]."),
    "a missing key": ({"w": X}, {"w": X, "b": X}, "The answer is a dict without ['b']."),
    "another key": ({"v": 1}, {"w": 1}, "a dict without ['w'] and with an unexpected ['v']."),
    "a leaf": ({"w": X, "b": -X}, {"w": X, "b": X}, "At ['b']: every value has the opposite sign."),
    "a type alone": (jnp.zeros(2), jax.ShapeDtypeStruct((3,), jnp.float32), "The shape is [2],"),
    "no type": ("f32[3]", jax.ShapeDtypeStruct((3,), jnp.float32), "expected f32[3]."),
    "a key": (jax.random.key(3), jax.random.key(4), "1 of 2 values differ"),
    "a set": ({"tanh"}, {"mul"}, "The answer is {'tanh'}."),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("Exercise 1", *RIGHT[name])
    assert capsys.readouterr().out == "Exercise 1: right.\n"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_told_what_is_wrong(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, expected, reason = WRONG[name]
    verdict = check("Exercise 1", answer, expected, hint="look again")
    out = capsys.readouterr().out
    assert verdict.state == "wrong"
    assert not verdict
    assert out.startswith("Exercise 1: not yet. ")
    assert reason in out
    assert out == f"{verdict.message}\n"
    assert out.endswith("\n  Hint: look again\n")


@pytest.mark.parametrize("answer", [..., [1, ...], {"a": ...}])
def test_dots_are_no_answer_and_no_mistake(answer: Any) -> None:
    verdict = check("Exercise 1", answer, 3, hint="not shown")
    assert verdict.state == "missing"
    assert verdict.message == ("Exercise 1: no answer yet. Replace the ... and run the cell again.")


def raises(x: Any) -> Any:
    return jnp.dot(x, jnp.ones(7))


FUNCTIONS: dict[str, tuple[Any, str, str]] = {
    "right": (lambda x: 2 * x, "right", "right."),
    "wrong": (lambda x: 3 * x, "wrong", "For f32[4]: every value is 1.5 times the expected one."),
    "raises": (
        raises,
        "wrong",
        "For f32[4]: it raises TypeError: dot_general requires",
    ),
    "returns nothing": (lambda x: None, "wrong", "For f32[4]: the answer is None."),
    "no function": (3, "wrong", "The answer is 3, expected a function."),
    "dots": (..., "missing", "no answer yet"),
    "returns dots": (lambda x: ..., "missing", "no answer yet"),
    "returns dots, jitted": (jax.jit(lambda x: ...), "missing", "no answer yet"),
    "computes with dots": (lambda x: x * ..., "missing", "no answer yet"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_compared_on_arguments(name: str) -> None:
    answer, state, text = FUNCTIONS[name]
    verdict = check("Exercise 1", answer, lambda x: 2 * x, on=[(X,)])
    assert verdict.state == state
    assert text in verdict.message


def test_the_fix_of_an_error_is_shown() -> None:
    verdict = check("Exercise 1", jax.jit(lambda x: x if x > 0 else -x), abs, on=[(X[0],)])
    first, *rest = verdict.message.splitlines()
    assert "it raises TracerBoolConversionError: Attempted boolean conversion" in first
    assert rest
    assert rest[0].startswith("  Fix: jnp.where(")


def test_the_second_argument_list_is_tried_too() -> None:
    verdict = check("Exercise 1", lambda x: x, abs, on=[(1.0,), (-1.0,)])
    assert verdict.message == "Exercise 1: not yet. For -1.0: the sign is opposite."


def test_a_leaked_tracer_is_explained() -> None:
    leaked = []
    jax.make_jaxpr(lambda x: leaked.append(x) or x)(X)
    verdict = check("Exercise 1", leaked[0], X)
    assert "The answer is a tracer, f32[4]: it stands for a value while a function is" in (
        verdict.message
    )


def test_tolerances_can_be_given() -> None:
    assert check("Exercise 1", 1.1, 1.0, rtol=0.2)
    assert check("Exercise 1", 0.1, 0.0, atol=0.2)
    assert not check("Exercise 1", 1.1, 1.0)


def test_expected_must_be_a_function_if_arguments_are_given() -> None:
    with pytest.raises(TypeError, match=r"compares functions(.|\n)*Fix: check\(question, f"):
        check("Exercise 1", abs, 3, on=[(1,)])


def test_a_verdict_can_be_asserted_and_shows_nothing_of_its_own() -> None:
    verdict = check("Exercise 1", 1, 1)
    assert isinstance(verdict, Verdict)
    assert repr(verdict) == "<Exercise 1: right>"
    assert verdict._ipython_display_() is None
