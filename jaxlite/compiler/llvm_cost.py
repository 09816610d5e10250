"""Stage 6 of 7, emit: how long steps take, roughly. In: steps. Out: nanoseconds on one core.

Good to a factor of ten, which is enough for its two uses: short programs keep the GIL, and native
loops look for Ctrl-C about once a millisecond. Next: ``emit_llvm.py``.
"""

from __future__ import annotations

import math
from typing import Final, assert_never

from jaxlite.compiler.llvm_math import MATH_UNARY
from jaxlite.kernel_ir.nodes import (
    Acc,
    Combine,
    Expr,
    For,
    If,
    Let,
    Set,
    Stmt,
    Store,
)
from jaxlite.kernel_ir.program import (
    Branch,
    Copy,
    HostCall,
    Launch,
    LibraryCall,
    Loop,
    Step,
    While,
)

_OPERATION_NS: Final = 0.4
_CALL_NS: Final = 8.0
_LAUNCH_NS: Final = 2.0
_HOST_NS: Final = 5000.0
_FLOP_NS: Final = 0.02
_ELEMENT_NS: Final = 0.2
_LIBRARY_NS: Final = 500.0
#: A vector loop does so many iterations at once.
_LANES: Final = 8
#: A while loop may take any number of iterations.
_ITERATIONS: Final = 10_000_000
_CALLS: Final = MATH_UNARY | {"pow", "atan2"}


class Costs:
    """Estimates for one program; each kernel is looked at once."""

    def __init__(self) -> None:
        self._kernels: dict[int, float] = {}

    def steps_ns(self, steps: tuple[Step, ...]) -> float:
        """Return the estimated time of ``steps``."""
        return sum(map(self._step_ns, steps))

    def _step_ns(self, step: Step) -> float:
        match step:
            case Launch(kernel, _):
                key = id(kernel)  # the program keeps it alive
                if key not in self._kernels:
                    self._kernels[key] = _LAUNCH_NS + _block_ns(kernel.body, set())
                return self._kernels[key]
            case LibraryCall():
                p = dict(step.params)
                flops: int = p["batch"] * p["m"] * p["n"] * p["k"]
                return _LIBRARY_NS + _FLOP_NS * flops
            case HostCall():
                return _HOST_NS
            case Copy(src, _):
                return _LAUNCH_NS + _ELEMENT_NS * math.prod(src.shape)
            case Loop(_, trip, body, _):
                return trip * self.steps_ns(body)
            case While(cond, _, body):
                return _ITERATIONS * (self.steps_ns(cond) + self.steps_ns(body))
            case Branch(_, branches):
                return max(map(self.steps_ns, branches))
            case _:
                assert_never(step)


def loop_ns(loop: For) -> float:
    """Return the estimated time of ``loop``."""
    return _block_ns((loop,), set())


def _block_ns(body: tuple[Stmt, ...], seen: set[Expr]) -> float:
    total = 0.0
    for s in body:
        match s:
            case Let(_, value) | Acc(_, value, _) | Combine(_, value) | Set(_, value):
                total += _expr_ns(value, seen)
            case Store(_, at, value):
                total += _expr_ns(at, seen) + _expr_ns(value, seen)
            case If(condition, then, orelse):
                inner = max(_block_ns(then, set(seen)), _block_ns(orelse, set(seen)))
                total += _expr_ns(condition, seen) + inner
            case For(_, extent, inside, kind):
                iterations = -(-extent // _LANES) if kind == "vector" else extent
                total += iterations * _block_ns(inside, set())
            case _:
                assert_never(s)
    return total


def _expr_ns(e: Expr, seen: set[Expr]) -> float:
    """Return the time of the nodes under ``e`` that are not in ``seen``, which they join."""
    total = 0.0
    stack = [e]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(node.args)
        is_call = node.kind in ("unary", "binary") and node.attrs[0] in _CALLS
        total += _CALL_NS if is_call else _OPERATION_NS * bool(node.args)
    return total
