"""NVIDIA's compiler without a GPU. In: CUDA C and an architecture. Out: what ``ptxas`` says of it.

The library comes from the package ``nvidia-cuda-nvrtc`` (in the ``test`` extra where it exists).
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@functools.cache
def library() -> Any:
    """Return the loaded library, None if the package is not installed."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in sorted(Path(folder).glob("*/lib/libnvrtc.so*")):
            if "builtins" not in path.name and ".alt" not in path.name:
                return ctypes.CDLL(str(path))
    return None


@dataclass(frozen=True)
class Usage:
    """What one function uses."""

    entry: str
    registers: int
    spilled_bytes: int


def compile_source(source: str, architecture: int) -> list[Usage]:
    """Compile for ``sm_<architecture>``; AssertionError with the compiler's log if it fails."""
    nvrtc, program = library(), ctypes.c_void_p()
    created = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None
    )
    assert created == 0, created
    options = [f"-arch=sm_{architecture}", "--std=c++17", "-ftz=false", "--fmad=false"]
    options += ["-Xptxas", "-v"]
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), words)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    text = log.value.decode()
    assert status == 0, f"{text}\n{source}"
    found = []
    for part in text.split("Compiling entry function ")[1:]:
        entry = part.split("'")[1]
        registers = re.search(r"Used (\d+) registers", part)
        spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", part))
        found.append(Usage(entry, int(registers.group(1)) if registers else 0, spilled))
    return found
