"""Threads for long loops. In: a number of threads. Out: the address of ``jaxlite_parallel``.

``jaxlite_parallel(function, context, most)`` calls ``function(context, thread, threads)`` in every
thread of GNU OpenMP's pool, which takes 2 us. It is a little LLVM module of its own, so that a
switch in its memory can turn it serial: after a fork the pool is gone and using it would hang, so a
child stays serial for good. Without libgomp everything is serial. Next: ``cpu.py``.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from jaxlite.settings import config

#: The pool's threads look for work this many times before they sleep: about 0.01 ms. Otherwise they
#: would take the processor from BLAS.
_SPINS: Final = "1000"
_TEXT: Final = """
@threads = global i32 1

declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @omp_get_num_threads()

define internal void @worker(ptr %job) nounwind {
  %second = getelementptr ptr, ptr %job, i64 1
  %function = load ptr, ptr %job
  %context = load ptr, ptr %second
  %thread = call i32 @omp_get_thread_num()
  %threads = call i32 @omp_get_num_threads()
  call void %function(ptr %context, i32 %thread, i32 %threads)
  ret void
}

define void @jaxlite_parallel(ptr %function, ptr %context, i32 %most) nounwind {
  %job = alloca [2 x ptr]
  %allowed = load i32, ptr @threads
  %few = icmp slt i32 %most, %allowed
  %count = select i1 %few, i32 %most, i32 %allowed
  %alone = icmp slt i32 %count, 2
  br i1 %alone, label %serial, label %parallel
serial:
  call void %function(ptr %context, i32 0, i32 1)
  ret void
parallel:
  store ptr %function, ptr %job
  %second = getelementptr ptr, ptr %job, i64 1
  store ptr %context, ptr %second
  call void @GOMP_parallel(ptr @worker, ptr %job, i32 %count, i32 0)
  ret void
}
"""
_SYMBOLS: Final = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")


def openmp() -> Any:
    """Return libgomp, loaded with a short spin, or None."""
    if not sys.platform.startswith("linux"):
        return None
    given = os.environ.get("GOMP_SPINCOUNT")
    if given is None:
        os.environ["GOMP_SPINCOUNT"] = _SPINS  # read once, when the library is loaded
    try:
        return ctypes.CDLL("libgomp.so.1")
    except OSError:
        return None
    finally:
        if given is None:
            del os.environ["GOMP_SPINCOUNT"]


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Threads:
    """The parallel loop of this process, made on first use.

    Args:
        llvm: llvmlite's ``binding``.
        new_engine: makes an empty execution engine.
        parse: makes a module of LLVM text.
    """

    def __init__(
        self, llvm: Any, new_engine: Callable[[], Any], parse: Callable[[str], Any]
    ) -> None:
        self._llvm = llvm
        self._parse = parse
        self._new_engine = new_engine
        self._library = openmp()
        self._switch = ctypes.c_int(1)
        self._engine: Any = None
        self._forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def prepare_for(self, text: str) -> None:
        """Bind the symbol before the first program that uses it is loaded."""
        if self._engine is not None or "@jaxlite_parallel(" not in text:
            return
        llvm = self._llvm
        for name in _SYMBOLS:
            function = getattr(self._library, name)
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value or 0)
        engine = self._new_engine()
        engine.add_module(self._parse(_TEXT))
        engine.finalize_object()
        self._switch = ctypes.c_int.from_address(engine.get_global_value_address("threads"))
        llvm.add_symbol("jaxlite_parallel", engine.get_function_address("jaxlite_parallel"))
        self._engine = engine
        self.update()

    def _after_fork(self) -> None:
        self._forked = True
        self._switch.value = 1

    def update(self) -> int:
        """Set the number of threads to what the settings say now, and return it."""
        if self._library is None or self._forked:
            return 1
        self._switch.value = config.frame.num_threads or processors()
        return self._switch.value
