"""Stage 7 of 7, run: one native call. In: arrays. Out: arrays.

``Executable.run`` is a closure made for its program: it allocates the outputs, calls the entry with
one tuple and returns the outputs. What a program does not need (workspace, host calls) costs
nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from jaxlite.errors import AllocationError, JaxRuntimeError
from jaxlite.kernel_ir.program import Program
from jaxlite.kernel_ir.target import HOST_FAILED, Target
from jaxlite.runtime.host_call import BoundCall, HostState, bound_calls
from jaxlite.runtime.memory import WorkspacePool, allocator_for
from jaxlite.settings import config

Arrays: TypeAlias = "tuple[np.ndarray[Any, Any], ...]"
Run: TypeAlias = "Callable[[Arrays], Arrays]"
Native: TypeAlias = "Callable[[tuple[Any, ...]], int]"
Use: TypeAlias = "Callable[[Native], None]"
Maker: TypeAlias = "Callable[[], np.ndarray[Any, Any]]"

# PYFUNCTYPE: the entry holds the GIL until it lets go itself, and a signal handler's exception,
# left pending by the entry, is raised by ctypes.
_ENTRY = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)
_TABLE_ENTRY = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Executable:
    """A loaded program. ``run(datas)`` maps C-contiguous arrays, one per argument, to fresh arrays.

    Attributes:
        program: what it does.
        consts: the values of the program's last inputs, which callers do not pass.
        run: the call.
        code: keeps the machine code alive.
    """

    __slots__ = ("__weakref__", "_make_native", "_use", "code", "consts", "program", "run")

    def __init__(self, program: Program, consts: Arrays, target: Target, code: Any) -> None:
        self.program = program
        self.consts = consts
        self.code = code
        self._make_native = _ENTRY if target.reads_python_objects else _table_entry
        self.run, self._use = _make_run(program, consts)

    def use(self, address: int) -> None:
        """Call the entry at ``address`` from now on."""
        self._use(self._make_native(address))


def check_size(program: Program) -> None:
    """Raise AllocationError if a call of ``program`` would allocate more than is allowed."""
    limit = config.frame.max_allocation_bytes
    if limit is None:
        return
    outputs = [b for b in program.buffers if b.kind == "output"]
    total = sum(b.nbytes for b in outputs) + program.workspace_bytes
    if total > limit:
        largest = max(outputs, key=lambda b: b.nbytes, default=None)
        facts = (
            f"\n  The largest result is {largest.dtype}{list(largest.shape)}." if largest else ""
        )
        raise AllocationError(
            f"One call of {program.name} would allocate {total} bytes: "
            f"{total - program.workspace_bytes} for results and {program.workspace_bytes} for "
            "intermediate values."
            f"{facts}\n  The limit is jaxlite.config.max_allocation_bytes = {limit}."
            "\n  Fix: work on smaller pieces, or raise the limit with "
            'jaxlite.config.update("max_allocation_bytes", None).'
        )


def _table_entry(address: int) -> Native:
    """Return an entry for unknown layouts of Python objects: it gets a table of pointers."""
    native = _TABLE_ENTRY(address)

    def call(items: tuple[Any, ...]) -> int:
        pointers = [a.ctypes.data if type(a) is np.ndarray else id(a) for a in items]
        status: int = native((ctypes.c_void_p * len(pointers))(*pointers))
        return status

    return call


def _make_run(program: Program, consts: Arrays) -> tuple[Run, Use]:
    """Return ``run`` and a function that sets the native entry it calls."""
    by_name = {b.name: b for b in program.buffers}
    makers = [allocator_for(by_name[n]) for n in program.outputs]
    calls = bound_calls(program)
    if calls or program.workspace_bytes:
        return _full_run(makers, consts, program.workspace_bytes, calls)
    if len(makers) == 1:
        return _run_for_one(makers[0], consts)
    native: Native = _not_loaded

    def run(datas: Arrays) -> Arrays:
        outs = tuple([make() for make in makers])
        if native((*datas, *consts, *outs)):
            raise _unexpected()
        return outs

    def use(entry: Native) -> None:
        nonlocal native
        native = entry

    return run, use


def _run_for_one(make: Maker, consts: Arrays) -> tuple[Run, Use]:
    """Return ``run`` for one result and no workspace: the path on which each 10 ns counts."""
    native: Native = _not_loaded

    def run(datas: Arrays) -> Arrays:
        out = make()
        if native((*datas, out)):
            raise _unexpected()
        return (out,)

    def run_with_consts(datas: Arrays) -> Arrays:
        out = make()
        if native((*datas, *consts, out)):
            raise _unexpected()
        return (out,)

    def use(entry: Native) -> None:
        nonlocal native
        native = entry

    return (run_with_consts if consts else run), use


def _full_run(
    makers: list[Maker], consts: Arrays, workspace_bytes: int, calls: list[BoundCall]
) -> tuple[Run, Use]:
    """Return ``run`` for a program with a workspace or host calls."""
    workspaces = WorkspacePool(workspace_bytes)
    no_state = HostState([])
    native: Native = _not_loaded

    def run(datas: Arrays) -> Arrays:
        outs = tuple([make() for make in makers])
        workspace = workspaces.take()
        state = HostState(calls) if calls else no_state
        try:
            status = native((*datas, *consts, *outs, workspace, state))
        finally:
            workspaces.give_back(workspace)
        if status:
            error = state.error
            state.error = None
            raise error if status == HOST_FAILED and error is not None else _unexpected()
        return outs

    def use(entry: Native) -> None:
        nonlocal native
        native = entry

    return run, use


def _not_loaded(_: tuple[Any, ...]) -> int:
    raise AssertionError("an executable runs after use() has given it an entry")


def _unexpected() -> JaxRuntimeError:
    return JaxRuntimeError("The program stopped without a reason: this is a bug in jaxlite.")
