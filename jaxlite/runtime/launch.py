"""Stage 7 of 7, run: one native call. In: arrays. Out: arrays.

``Executable.run`` is a closure made for its program: allocate the outputs, call the entry with one tuple,
return the outputs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.kernel_ir.program import Program

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_int, ctypes.c_void_p)
_ENTRY = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)


@_CALLBACK
def _host_call(state: Any, number: int, table: int) -> int:
    return 1


def host_call_address() -> int:
    """Return the address of the trampoline."""
    return int(ctypes.cast(_host_call, ctypes.c_void_p).value or 0)


class Executable:
    """A loaded program. ``run(datas)`` maps C-contiguous arrays to fresh ones."""

    def __init__(
        self, program: Program, consts: tuple[Any, ...], address: int, keep_alive: Any
    ) -> None:
        self.program = program
        self.consts = consts
        self._keep_alive = keep_alive
        self.run = _make_run(program, consts, _ENTRY(address))


def _make_run(
    program: Program, consts: tuple[Any, ...], native: Callable[[Any], int]
) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    by_name = {b.name: b for b in program.buffers}
    outs = [(by_name[n].shape, by_name[n].dtype) for n in program.outputs]
    empty = np.empty
    workspace = np.empty(program.workspace_bytes, np.uint8)

    def run(datas: tuple[Any, ...]) -> tuple[Any, ...]:
        results = tuple([empty(s, d) for s, d in outs])
        native((*datas, *consts, *results, workspace, None))
        return results

    return run
