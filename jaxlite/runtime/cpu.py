"""Stage 7 of 7, run: LLVM text to machine code. In: text and Program. Out: ``Executable``.

llvmlite is loaded on first use. A text is compiled once per process: quickly for the first call,
and with care in the background soon after (``upgrade.py``). The careful object code is kept on
disk, where the next process finds it. Machine code lives in engines that hold a batch of programs
each; an engine dies with the last executable made from it. Next: ``launch.py``.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import importlib
import os
import re
import sys
import threading
import weakref
from collections import OrderedDict
from typing import Any, Final

import numpy as np

from jaxlite.errors import KernelCompileError, MissingPartError
from jaxlite.kernel_ir.program import Program
from jaxlite.kernel_ir.target import ENTRY, Target
from jaxlite.runtime import disk_cache, host_call, launch, library, loop_progress, platform
from jaxlite.runtime.disk_cache import DiskCache
from jaxlite.runtime.interrupt import interruptible
from jaxlite.runtime.threads import Threads
from jaxlite.runtime.upgrade import Background

#: Programs per engine: making an engine takes a millisecond, and only a whole one can be freed.
_BATCH: Final = 64
#: Machine code that stays loaded without an executable, for functions that are traced again.
_KEPT: Final = 256
#: LLVM's effort. Quick code keeps every value on the stack, which makes it up to twice as slow, and
#: takes a third of the time. Emitted code is vectorised and free of redundancy: more effort than
#: careful gains nothing.
_QUICK: Final = 0
_CAREFUL: Final = 1
#: Calls that take longer deserve careful code from the first one on.
_LONG_US: Final = 20_000.0
#: Characters of a text that takes LLVM a noticeable time: Ctrl-C ends the wait.
_LARGE_TEXT: Final = 300_000
#: What emitted code calls in the interpreter.
_PYTHON_SYMBOLS: Final = (
    "PyErr_CheckSignals",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyGILState_Ensure",
    "PyGILState_Release",
)


class Code:
    """The machine code of one program: where its entry is, and what keeps it loaded."""

    __slots__ = ("__weakref__", "_lock", "address", "engines", "users")

    def __init__(self, engine: Any, address: int) -> None:
        self.engines = [engine]
        self.address = address
        self.users: weakref.WeakSet[launch.Executable] = weakref.WeakSet()
        self._lock = threading.Lock()

    def add_user(self, executable: launch.Executable) -> None:
        """Let ``executable`` run this code, now and after it has been replaced."""
        with self._lock:
            self.users.add(executable)
            executable.use(self.address)

    def replace(self, better: Code) -> None:
        """Make all executables of this code run ``better``; calls under way end as they began."""
        with self._lock:
            self.engines += better.engines
            self.address = better.address
            for executable in self.users:
                executable.use(better.address)


class Compiler:
    """LLVM for this process."""

    def __init__(self) -> None:
        try:
            self.llvm = llvm = importlib.import_module("llvmlite.binding")
        except ImportError as error:
            raise MissingPartError(
                f"jit compiles with llvmlite, which cannot be imported: {error}.\n"
                "  Fix: pip install --upgrade llvmlite (jaxlite doctor shows all parts); until "
                "then, "
                "jaxlite.disable_jit() runs everything without compiling."
            ) from error
        self._context: Any = None
        if llvm.llvm_version_info[0] < 15:
            # LLVM 14 knows pointers without a type only if asked to, per context: one of our own
            # leaves the global context to others, numba for example.
            llvm.set_option("jaxlite", "-opaque-pointers")
            self._context = llvm.create_context()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.cpu: str = llvm.get_host_cpu_name()
        features = llvm.get_host_cpu_features()
        self.features: str = features.flatten()
        self.version = ".".join(map(str, llvm.llvm_version_info))
        serial = platform.describe(self.cpu, dict(features), llvm.llvm_version_info[0])
        self.targets = serial, dataclasses.replace(serial, threads=True)
        self._lock = threading.Lock()
        self._machines = {level: self._new_machine(level) for level in (_QUICK, _CAREFUL)}
        self.background = Background()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._after_fork,
            )
        self._engine: Any = None
        self._in_engine: set[str] = set()
        self._loaded: OrderedDict[str, Code] = OrderedDict()
        self._has_blas = False
        self._bind_symbols()

    def parse(self, text: str) -> Any:
        """Return the LLVM module of ``text``."""
        return self.llvm.parse_assembly(text, self._context)

    def _bind_symbols(self) -> None:
        llvm = self.llvm
        if sys.platform.startswith("linux"):
            llvm.load_library_permanently("libm.so.6")
            if self.targets[0].vector_math:
                llvm.load_library_permanently("libmvec.so.1")
        addresses = {
            "jaxlite_host_call": host_call.trampoline_address(),
            "jaxlite_progress": loop_progress.address(),
        }
        for name in _PYTHON_SYMBOLS:
            function = getattr(ctypes.pythonapi, name)
            addresses[name] = ctypes.cast(function, ctypes.c_void_p).value or 0
        for name, address in addresses.items():
            llvm.add_symbol(name, address)
        self.threads = Threads(llvm, self._new_engine, self.parse)

    def _bind_blas(self) -> None:
        """Bind BLAS when the first program calls it.

        Importing SciPy's takes as long as a compile.
        """
        for name, address in library.symbols().items():
            self.llvm.add_symbol(name, address)
        self._has_blas = True

    def _new_engine(self) -> Any:
        empty = self.parse("")
        return self.llvm.create_mcjit_compiler(empty, self._new_machine(_CAREFUL))

    def _after_fork(self) -> None:
        self._lock.release()
        self.background.forget()

    def target(self) -> Target:
        """Return what the emitter may assume about this machine under the current settings."""
        return self.targets[self.threads.update() > 1]

    def _new_machine(self, level: int) -> Any:
        return self.llvm.Target.from_default_triple().create_target_machine(
            cpu=self.cpu, features=self.features, opt=level, jit=True
        )

    def compile(self, text: str) -> Code:
        """Return the machine code of ``text``, from memory or disk if it has been compiled before.

        Raises:
            KernelCompileError: LLVM rejects the text.
        """
        # Comments name the user's files and lines, which do not change the code.
        bare = "\n".join([line for line in text.split("\n") if not line.startswith(";")])
        if not self._has_blas and "gemm" in bare:
            self._bind_blas()
        self.threads.prepare_for(bare)
        key = disk_cache.key_of(bare, self.cpu, self.features, self.version)
        self.background.note()
        work = functools.partial(self._code, key, bare, estimate_us(text), disk_cache.current())
        return work() if len(bare) < _LARGE_TEXT else interruptible(work)

    def _code(self, key: str, bare: str, estimate: float, cache: DiskCache | None) -> Code:
        """Return the machine code of ``bare``; a compile of LLVM's is not interrupted."""
        with self._lock:
            code = self._loaded.get(key)
            if code is not None:
                self._loaded.move_to_end(key)
                return code
            data = cache.get(key) if cache else None
            is_quick = data is None and estimate < _LONG_US
            level = _QUICK if is_quick else _CAREFUL
            if data is None:
                data = self._object_code(key, bare, level, cache)
            code = self._load(_symbol(key, level), data)
            self._loaded[key] = code
            if len(self._loaded) > _KEPT:
                self._loaded.popitem(last=False)
        if is_quick:
            task = functools.partial(self._upgrade, key, bare, weakref.ref(code), cache)
            self.background.submit(task)
        return code

    def _upgrade(
        self, key: str, text: str, reference: weakref.ref[Code], cache: DiskCache | None
    ) -> None:
        """Compile ``text`` again, with care, unless its code is not used any more."""
        code = reference()
        if code is not None:
            with self._lock:
                data = self._object_code(key, text, _CAREFUL, cache)
                better = self._load(_symbol(key, _CAREFUL), data)
            code.replace(better)

    def _object_code(self, key: str, text: str, level: int, cache: DiskCache | None) -> bytes:
        symbol = _symbol(key, level)
        try:
            module = self.parse(text.replace(f"@{ENTRY}(", f"@{symbol}("))
        except RuntimeError as error:
            raise KernelCompileError(describe_rejection(str(error), text)) from None
        data: bytes = self._machines[level].emit_object(module)
        if cache and level == _CAREFUL:
            cache.put(key, data)
        return data

    def _load(self, symbol: str, data: bytes) -> Code:
        if self._engine is None or len(self._in_engine) >= _BATCH or symbol in self._in_engine:
            self._engine = self._new_engine()
            self._in_engine = set()
        self._in_engine.add(symbol)
        self._engine.add_object_file(self.llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        return Code(self._engine, self._engine.get_function_address(symbol))

    def assembly(self, text: str) -> str:
        """Return the careful machine code of ``text`` in this machine's assembly."""
        with self._lock:
            assembly: str = self._machines[_CAREFUL].emit_assembly(self.parse(text))
        return assembly

    def clear(self) -> None:
        """Forget machine code that no executable uses."""
        with self._lock:
            self._loaded.clear()
            self._engine = None


def _symbol(key: str, level: int) -> str:
    # Unique per text, so that many programs fit into one engine and object code can be kept.
    return f"{ENTRY}_{key[:24]}_{level}"


def estimate_us(text: str) -> float:
    """Return the time of one call that the emitter has noted in its first comments."""
    found = re.search(r"^; one call takes about (\d+) us", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def describe_rejection(message: str, text: str) -> str:
    """Return LLVM's complaint with the lines of ``text`` around the place."""
    lines = text.splitlines()
    parts = message.split(":")
    numbers = [int(p) for p in parts if p.strip().isdigit()]
    at = numbers[0] - 1 if numbers else 0
    shown = [
        f"{'>' if n == at else ' '} {n + 1:4} | {lines[n]}"
        for n in range(max(at - 2, 0), min(at + 3, len(lines)))
    ]
    return "\n".join(
        [
            f"LLVM rejected the program: {message.strip().splitlines()[-1] if message else ''}",
            *shown,
            "  This is a bug in jaxlite, not in your code; the program's LLVM text reproduces it.",
        ]
    )


@functools.cache
def compiler() -> Compiler:
    """Return this process's LLVM; the first call loads it."""
    return Compiler()


def host_target() -> Target:
    """Return what the emitter may assume about this machine."""
    return compiler().target()


def load(
    text: str,
    program: Program,
    consts: tuple[np.ndarray[Any, Any], ...] = (),
    target: Target | None = None,
) -> launch.Executable:
    """Return ``program``, emitted as ``text`` for ``target``, ready to run.

    ``target`` is ``host_target()`` by default. ``consts`` are the values of the program's last
    inputs; callers of ``run`` pass the others.

    Raises:
        KernelCompileError: LLVM rejects the text.
        AllocationError: a call would need more memory than the settings allow.
    """
    launch.check_size(program)
    code = compiler().compile(text)
    executable = launch.Executable(program, consts, target or host_target(), code)
    code.add_user(executable)
    return executable
