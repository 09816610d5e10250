"""Stage 7 of 7, run: LLVM text to machine code. In: text and Program. Out: ``Executable``.

llvmlite is loaded on first use. Compiled code lives in engines that hold a batch of programs each; an
engine dies with the last executable made from it. Next: ``launch.py``.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import itertools
import sys
import threading
from typing import Any

import numpy as np

from jaxlite.kernel_ir.program import Program
from jaxlite.kernel_ir.target import ENTRY, Target
from jaxlite.runtime import launch, library, platform

#: Programs per engine: creating one costs a millisecond, freeing one frees all its programs.
_BATCH = 64
_ids = itertools.count()


class _Compiler:
    """LLVM for this process: symbols bound once, engines made as needed."""

    def __init__(self) -> None:
        self.llvm = llvm = importlib.import_module("llvmlite.binding")
        for start in ("initialize", "initialize_native_target", "initialize_native_asmprinter"):
            if start != "initialize":
                getattr(llvm, start)()
        self.lock = threading.Lock()
        self.cpu = llvm.get_host_cpu_name()
        self.features = llvm.get_host_cpu_features()
        self.target = platform.describe(self.cpu, dict(self.features), llvm.llvm_version_info[0])
        for name in ("libm.so.6", "libmvec.so.1") if sys.platform.startswith("linux") else ():
            if name != "libmvec.so.1" or self.target.vector_math:
                llvm.load_library_permanently(name)
        for name, address in library.symbols().items():
            llvm.add_symbol(name, address)
        llvm.add_symbol("jaxlite_host_call", launch.host_call_address())
        for name in ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals"):
            address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
            llvm.add_symbol(name, address)
        self._engine: Any = None
        self._left = 0

    def machine(self, level: int) -> Any:
        """Return a new target machine for this host."""
        return self.llvm.Target.from_default_triple().create_target_machine(
            cpu=self.cpu, features=self.features.flatten(), opt=level, jit=True
        )

    def compile(self, text: str) -> tuple[Any, int]:
        """Return (engine, address of the entry)."""
        llvm = self.llvm
        name = f"{ENTRY}_{next(_ids)}"
        module = llvm.parse_assembly(text.replace(f"@{ENTRY}(", f"@{name}("))
        with self.lock:
            if self._left == 0:
                empty = llvm.parse_assembly("")
                self._engine = llvm.create_mcjit_compiler(empty, self.machine(1))
                self._left = _BATCH
            self._left -= 1
            engine = self._engine
            engine.add_module(module)
            engine.finalize_object()
            return engine, engine.get_function_address(name)


@functools.cache
def compiler() -> _Compiler:
    """Return this process's LLVM."""
    return _Compiler()


def host_target() -> Target:
    """Return what the emitter may assume about this machine."""
    return compiler().target


def load(text: str, program: Program, consts: tuple[np.ndarray, ...] = ()) -> launch.Executable:
    """Return ``program``, emitted as ``text`` for ``host_target()``, ready to run.

    ``consts`` are the values of the program's last inputs; callers of ``run`` pass the others.
    """
    engine, address = compiler().compile(text)
    return launch.Executable(program, consts, address, keep_alive=engine)
