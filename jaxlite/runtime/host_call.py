"""Calls from machine code back to Python. In: pointers. Out: a status for the machine code.

The entry hands over the run's ``HostState``, the number of the call and a table of buffers.
Operands are copied, since a callback may keep them and the memory is used again. An exception is
kept in the state; the machine code returns at once and the dispatcher raises it. Next:
``launch.py``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxlite.kernel_ir.nodes import DType
from jaxlite.kernel_ir.program import Branch, HostCall, Loop, Program, Step, View, While

_TRAMPOLINE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_int, ctypes.c_void_p)
Slot = tuple[tuple[int, ...], DType]  # shape and dtype of one buffer


class BoundCall:
    """One host call of a program with the shapes and dtypes of its buffers."""

    def __init__(self, step: HostCall, dtypes: dict[str, DType]) -> None:
        self.primitive = step.primitive
        self.params = dict(step.params)
        self.ins = [self._slot(v, dtypes) for v in step.ins]
        self.outs = [self._slot(v, dtypes) for v in step.outs]

    @staticmethod
    def _slot(view: View, dtypes: dict[str, DType]) -> Slot:
        return view.shape, dtypes[view.buffer]

    def run(self, table: int) -> None:
        """Run the primitive on the buffers whose addresses are in ``table``."""
        slots = [*self.ins, *self.outs]
        pointers = (ctypes.c_void_p * len(slots)).from_address(table) if slots else ()
        arrays = [array_at(p or 0, *slot) for p, slot in zip(pointers, slots)]
        n = len(self.ins)
        operands = [a.copy() for a in arrays[:n]]
        results = self.primitive.impl(np, *operands, **self.params)
        results = results if type(results) is tuple else (results,)
        for out, result in zip(arrays[n:], results, strict=True):
            out[...] = result


def array_at(address: int, shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """Return the memory at ``address`` as an array; nothing is copied or kept alive."""
    size = dtype.itemsize
    for d in shape:
        size *= d
    if size == 0:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * size).from_address(address)
    return np.ndarray(shape, dtype, memory)


class HostState:
    """What the host calls of one run share: the calls, and the exception one of them raised."""

    __slots__ = ("calls", "error")

    def __init__(self, calls: list[BoundCall]) -> None:
        self.calls = calls
        self.error: BaseException | None = None


def _call(state: HostState, number: int, table: int) -> int:
    try:
        state.calls[number].run(table)
    except (
        BaseException
    ) as error:  # an exception cannot cross machine code: the dispatcher raises it
        state.error = error
        return 1
    return 0


_trampoline = _TRAMPOLINE(_call)


def trampoline_address() -> int:
    """Return the address that emitted code knows as ``jaxlite_host_call``."""
    return int(ctypes.cast(_trampoline, ctypes.c_void_p).value or 0)


def bound_calls(program: Program) -> list[BoundCall]:
    """Return the host calls of ``program`` in the order the emitter numbers them."""
    dtypes = {b.name: b.dtype for b in program.buffers}
    return [BoundCall(s, dtypes) for s in all_steps(program.steps) if isinstance(s, HostCall)]


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the steps and those inside them, in text order."""
    for step in steps:
        yield step
        match step:
            case Loop():
                yield from all_steps(step.body)
            case While():
                yield from all_steps(step.cond)
                yield from all_steps(step.body)
            case Branch():
                for branch in step.branches:
                    yield from all_steps(branch)
