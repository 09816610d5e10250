"""How a product may be computed on some accelerators. In: names or descriptions. Out: checks.

The CPU and jaxlite's own kernels always multiply and add in the full type, so an algorithm that
JAX's CPU accepts changes nothing here, and one that it refuses is refused.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

__all__ = ["DotAlgorithm", "DotAlgorithmPreset", "check_algorithm"]


@dataclass(frozen=True)
class DotAlgorithm:
    """Types that the operands are rounded to, the type of the sums, and how many parts each has."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms with names: types of lhs and rhs, type of the sums, number of passes."""

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"


_ON_CPU = frozenset(
    {
        DotAlgorithmPreset.DEFAULT,
        DotAlgorithmPreset.F16_F16_F16,
        DotAlgorithmPreset.BF16_BF16_F32,
        DotAlgorithmPreset.BF16_BF16_F32_X3,
        DotAlgorithmPreset.BF16_BF16_F32_X6,
        DotAlgorithmPreset.F32_F32_F32,
        DotAlgorithmPreset.F64_F64_F64,
    }
)


def check_algorithm(precision: Any) -> DotAlgorithm | DotAlgorithmPreset | None:
    """Return ``precision`` as an algorithm, None if it is none.

    Raises:
        ValueError: an algorithm that JAX does not have on the CPU.

    Example:
        >>> check_algorithm("F32_F32_F32")
        DotAlgorithmPreset.F32_F32_F32
    """
    if isinstance(precision, str):
        precision = DotAlgorithmPreset.__members__.get(precision)
    if isinstance(precision, DotAlgorithm):
        return precision
    if not isinstance(precision, DotAlgorithmPreset):
        return None
    if precision not in _ON_CPU:
        raise ValueError(
            f"The precision '{precision}' is not supported by dot_general on CPU\n"
            f"  Fix: one of {', '.join(sorted(str(p) for p in _ON_CPU))}."
        )
    return precision
