"""``lax.ragged_dot_general`` and ``lax.scaled_dot`` against JAX."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.nn.oracle import check

pytestmark = pytest.mark.jax_oracle

A = np.arange(12, dtype=np.float32).reshape(6, 2)
B = np.arange(18, dtype=np.float32).reshape(3, 2, 3)
C = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
D = np.arange(36, dtype=np.float32).reshape(3, 2, 2, 3)
SIZES = np.array([1, 3, 1], np.int32)
GRID = np.array([[1, 2], [4, 0], [1, 1]], np.int32)
PLAIN = (((1,), (1,)), ((), ()))

RAGGED = [
    *[(A, B, SIZES, PLAIN, (0,), group) for group in ((0,), (), (0, 1), (1,), (7,))],
    (A, B, SIZES, PLAIN, (5,), (0,)),
    (A, B, SIZES, PLAIN, (0, 1), (0,)),
    *[(A, B, s, PLAIN, (0,), (0,)) for s in (SIZES[:, None], SIZES[None], np.int32(3))],
    *[(A, B, s, PLAIN, (0,), (0,)) for s in (SIZES * 3, SIZES[:2], np.float32(SIZES))],
    (A, A, SIZES, (((0,), (0,)), ((), ())), (0,), ()),
    (A, A, SIZES, (((0,), (0,)), ((), ())), (0,), (1,)),
    (A, B[None], SIZES, (((1,), (2,)), ((), ())), (0,), (1,)),
    (C, D, GRID, (((2,), (2,)), ((0,), (0,))), (1,), (1,)),
    (C, D, GRID[0], (((2,), (2,)), ((0,), (0,))), (1,), (1,)),
    (C, C, GRID, (((1,), (1,)), ((0,), (0,))), (1,), ()),
    (C, C, GRID[0], (((2,), (2,)), ((0,), (0,))), (0,), ()),
    (C, B[:2], GRID, (((2,), (1,)), ((), ())), (1,), (0,)),
]


@pytest.mark.parametrize("case", range(len(RAGGED)))
def test_ragged_products_and_errors(case: int) -> None:
    lhs, rhs, sizes, *numbers = RAGGED[case]
    check(
        lambda lib: lib.lax.ragged_dot_general(
            lhs, rhs, sizes, lib.lax.RaggedDotDimensionNumbers(*numbers)
        )
    )


def test_ragged_dot_has_derivatives_in_both_operands() -> None:
    check(lambda lib: lib.grad(lambda a: lib.lax.ragged_dot(a, B, SIZES).sum())(A))
    check(lambda lib: lib.jit(lib.grad(lambda b: lib.lax.ragged_dot(A, b, SIZES).sum()))(B))


def ones(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


SCALED: list[tuple[Any, Any, dict[str, Any]]] = [
    (A, B[0], {}),
    (A, B[0], {"preferred_element_type": np.int32}),
    (A, B, {}),
    (A, B[0], {"lhs_scale": ones(6)}),
    (ones(2, 4), ones(4, 3), {"lhs_scale": ones(2, 3)}),
    (ones(2, 4), ones(4, 3), {"lhs_scale": ones(1, 2)}),
    (ones(2, 4), ones(4, 3), {"lhs_scale": ones(2, 4)}),
    (ones(2, 4), ones(4, 3), {"rhs_scale": 2 * ones(2, 3)}),
    (ones(5, 2, 4), ones(5, 4, 3), {"lhs_scale": 3 * ones(5, 2, 2)}),
    (
        ones(2, 64, dtype=ml_dtypes.float8_e4m3fn),
        ones(64, 3, dtype=ml_dtypes.float8_e4m3fn),
        {
            "lhs_scale": ones(2, 2, dtype=ml_dtypes.float8_e8m0fnu),
            "preferred_element_type": np.float32,
        },
    ),
]


@pytest.mark.parametrize("case", range(len(SCALED)))
def test_scaled_products_and_errors(case: int) -> None:
    lhs, rhs, options = SCALED[case]
    check(lambda lib: lib.lax.scaled_dot(lhs, rhs, **options))
