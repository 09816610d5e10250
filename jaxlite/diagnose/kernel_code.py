"""Generated code, kernel by kernel. In: a compilation. Out: LLVM IR, assembly and CUDA C of each.

The assembly is what LLVM's careful level makes for this machine; the CUDA C is what a GPU would
run, and needs none to be written.
"""

from __future__ import annotations

import re
from typing import Any

from jaxlite.compiler.emit_cuda import emit_kernel
from jaxlite.kernel_ir.nodes import Kernel
from jaxlite.runtime import cpu

__all__ = ["KernelCode", "lanes_of"]

#: Characters of LLVM IR up to which assembly is made: it is compiled again for it.
MAX_SOURCE = 300_000
_FUNCTION = re.compile(r'^define [^@]*@"?([\w.]+)"?\(.*?^\}$', re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r'^"?([A-Za-z_][\w.]*)"?:')
#: Lines of assembly that are no instruction and no label.
_DIRECTIVE = re.compile(r"\s*(\.(?!L)|#|//|;|$)")
_X86 = re.compile(r"\s+v?\w*?([ps])([sd])\s.*?([xyz])mm")
_X86_WIDTH = {"x": 128, "y": 256, "z": 512}
_ARM = re.compile(r"\s+f\w+\s+v\d+\.(\d+)[sd]")
#: Instructions that move values only.
_MOVES = re.compile(r"\s+v?(mov|broadcast|perm|shuf|unpck|blend|extract|insert)\w*\s")


class KernelCode:
    """The generated code of one compilation; each form is made when it is first asked for."""

    def __init__(self, compilation: Any) -> None:
        self._source: str = compilation.source
        self._llvm: dict[str, str] | None = None
        self._assembly: dict[str, list[str]] | None = None

    def llvm(self, kernel: Kernel) -> list[str]:
        """Return the functions of a kernel in LLVM IR as lines."""
        if self._llvm is None:
            self._llvm = {m[1]: m[0] for m in _FUNCTION.finditer(self._source)}
        texts = [text for name, text in self._llvm.items() if _is_of(name, kernel)]
        return "\n".join(texts).split("\n") if texts else []

    def assembly(self, kernel: Kernel) -> list[str]:
        """Return the instructions of a kernel on this machine as lines."""
        if self._assembly is None and len(self._source) > MAX_SOURCE:
            self._assembly = {}
        if self._assembly is None:
            self._assembly = _functions(cpu.compiler().assembly(self._source))
        found = [lines for name, lines in self._assembly.items() if _is_of(name, kernel)]
        return [line for lines in found for line in lines]

    def cuda(self, kernel: Kernel) -> list[str]:
        """Return the CUDA C of a kernel as lines, without the comments in front."""
        lines = emit_kernel(kernel).source.rstrip("\n").split("\n")
        return [line for line in lines if not line.startswith("// ")]


def lanes_of(instruction: str) -> int:
    """Return on how many numbers an instruction of assembly computes; 0 if it computes none.

    >>> lanes_of("  vfmadd213ps %zmm1, %zmm2, %zmm3"), lanes_of("  vaddss %xmm1, %xmm2, %xmm3")
    (16, 1)
    >>> lanes_of("  vmovups (%rdi), %zmm1"), lanes_of("  addq $64, %rax")
    (0, 0)
    """
    if _MOVES.match(instruction):
        return 0
    found = _X86.match(instruction)
    if found:
        packed, kind, register = found.groups()
        width = 32 if kind == "s" else 64
        return _X86_WIDTH[register] // width if packed == "p" else 1
    arm = _ARM.match(instruction)
    return int(arm[1]) if arm else 0


def _is_of(name: str, kernel: Kernel) -> bool:
    """Say whether a function is a kernel's, or a part of it that threads share."""
    own = re.escape(kernel.name)
    return re.fullmatch(rf"k\d+_{own}(\..*)?", name) is not None


def _functions(text: str) -> dict[str, list[str]]:
    """Return the lines of each function of an assembly, without directives."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.split("\n"):
        label = _LABEL.match(line)
        if label and not label[1].startswith(("L", ".L")):
            current = found.setdefault(label[1].removeprefix("_"), [])
        elif line.startswith(("\t.section", "\t.cfi_endproc")):
            current = None
        elif current is not None and not _DIRECTIVE.match(line):
            current.append(line.split("#")[0].rstrip().replace("\t", "  "))
    return found
