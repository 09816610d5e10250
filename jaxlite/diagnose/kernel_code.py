"""Generated code, kernel by kernel. In: a compilation. Out: LLVM IR, assembly and CUDA C of each.

The assembly is what LLVM's careful level makes for this machine; the CUDA C is what a GPU would
run, and needs none to be written.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from jaxlite.compiler.emit_cuda import emit_kernel
from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.kernel_ir.nodes import Kernel
from jaxlite.kernel_ir.program import Program
from jaxlite.runtime import cpu

__all__ = ["KernelCode", "lanes_of"]

#: A line of code, and the line of the loop nest it computes (0: none).
Numbered: TypeAlias = tuple[str, int]

#: Characters of LLVM IR up to which assembly is made: it is compiled again for it.
MAX_SOURCE = 300_000
_FUNCTION = re.compile(r'^define [^@]*@"?([\w.]+)"?\(.*?^\}$', re.MULTILINE | re.DOTALL)
_LOCATION = re.compile(r"^!(\d+) = !DILocation\(line: (\d+),", re.MULTILINE)
_SCOPE = re.compile(r" !dbg !\d+")
_LOC = re.compile(r"\s*\.loc\s+\d+ (\d+)")
_LABEL = re.compile(r'^"?([A-Za-z_][\w.]*)"?:')
#: Lines of assembly that are no instruction and no label.
_DIRECTIVE = re.compile(r"\s*(\.(?!LBB)|#|//|;|$)")
_X86 = re.compile(r"\s+v?\w*?([ps])([sd])\s.*?([xyz])mm")
_X86_WIDTH = {"x": 128, "y": 256, "z": 512}
_ARM = re.compile(r"\s+f\w+\s+v\d+\.(\d+)[sd]")
#: Instructions that move values only.
_MOVES = re.compile(r"\s+v?(mov|xor|broadcast|perm|shuf|unpck|blend|extract|insert)\w*\s")


class KernelCode:
    """The generated code of one compilation; each form is made when it is first asked for.

    Lines come with the number of the line of the kernel's loop nest (its text without comments)
    that they compute, 0 for none.
    """

    def __init__(self, compilation: Any) -> None:
        self._program: Program = compilation.program
        self._source = ""
        self._llvm: dict[str, list[Numbered]] | None = None
        self._assembly: dict[str, list[Numbered]] | None = None

    def llvm(self, kernel: Kernel) -> list[Numbered]:
        """Return the functions of a kernel in LLVM IR."""
        if self._llvm is None:
            self._source = emit_llvm(self._program, cpu.host_target(), with_lines=True)
            places = {m[1]: int(m[2]) for m in _LOCATION.finditer(self._source)}
            found = _FUNCTION.finditer(self._source)
            self._llvm = {m[1]: [_numbered(x, places) for x in m[0].split("\n")] for m in found}
        return _lines_of(kernel, self._llvm)

    def assembly(self, kernel: Kernel) -> list[Numbered]:
        """Return the instructions of a kernel on this machine; nothing for a huge program."""
        if self._assembly is None:
            self.llvm(kernel)
            is_huge = len(self._source) > MAX_SOURCE
            self._assembly = {} if is_huge else _functions(cpu.compiler().assembly(self._source))
        return _lines_of(kernel, self._assembly)

    def cuda(self, kernel: Kernel) -> list[str]:
        """Return the CUDA C of a kernel as lines, without the comments in front."""
        lines = emit_kernel(kernel).source.rstrip("\n").split("\n")
        return [line for line in lines if not line.startswith("// ")]


def _numbered(line: str, places: dict[str, int]) -> Numbered:
    """Return a line of LLVM IR without its debug location, and the line that this names."""
    text, mark, place = line.partition(", !dbg !")
    return (text, places.get(place, 0)) if mark else (_SCOPE.sub("", line), 0)


def _lines_of(kernel: Kernel, functions: dict[str, list[Numbered]]) -> list[Numbered]:
    """Return the functions of a kernel: its own, and the parts that threads share."""
    name = re.compile(rf"k\d+_{re.escape(kernel.name)}(\..*)?")
    return [line for key, lines in functions.items() if name.fullmatch(key) for line in lines]


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


def _functions(text: str) -> dict[str, list[Numbered]]:
    """Return the lines of each function of an assembly, without directives."""
    found: dict[str, list[Numbered]] = {}
    current: list[Numbered] | None = None
    number = 0
    for line in text.split("\n"):
        label = _LABEL.match(line)
        place = _LOC.match(line)
        if label and not label[1].startswith(("L", ".L")):
            current, number = found.setdefault(label[1].removeprefix("_"), []), 0
        elif line.startswith(("\t.section", "\t.cfi_endproc")):
            current = None
        elif place:
            number = int(place[1])
        elif current is not None and not _DIRECTIVE.match(line):
            bare = line.split("#")[0].rstrip().replace("\t", "  ")
            is_label = not line.startswith("\t")
            current.append((bare, 0 if is_label else number))
    return found
