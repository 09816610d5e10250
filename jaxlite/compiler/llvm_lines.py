"""Stage 6 of 7, emit: which line of a loop nest each instruction computes. In: kernels. Out: notes.

Only views ask for it. Every instruction carries a debug location whose line is that of its
statement in the printed loop nest, so LLVM carries it on into assembly. The machine code is the
same. Next: ``emit_llvm.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from jaxlite.compiler.llvm_text import Code, Module
from jaxlite.kernel_ir.nodes import Kernel
from jaxlite.kernel_ir.pretty import statement_lines
from jaxlite.kernel_ir.target import Target

#: Numbers of the metadata that all functions share: unit, two flags, file, type.
_UNIT, _VERSION, _FILE, _TYPE, _FIRST = 0, 1, 2, 3, 4


class LineNotes:
    """The debug locations of one module."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def new(self, text: str) -> int:
        """Add metadata; return its number."""
        self.texts.append(text)
        return _FIRST + len(self.texts) - 1

    def function(self, name: str) -> int:
        """Add a function; return the number of its scope."""
        return self.new(
            f'distinct !DISubprogram(name: "{name}", file: !{_FILE}, line: 1, type: !{_TYPE}, '
            f"unit: !{_UNIT}, spFlags: DISPFlagDefinition)"
        )

    def __str__(self) -> str:
        head = [
            f"!llvm.dbg.cu = !{{!{_UNIT}}}",
            f"!llvm.module.flags = !{{!{_VERSION}}}",
            f"!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_C99, file: !{_FILE}, "
            "emissionKind: LineTablesOnly)",
            f'!{_VERSION} = !{{i32 2, !"Debug Info Version", i32 3}}',
            f'!{_FILE} = !DIFile(filename: "loops", directory: "")',
            f"!{_TYPE} = !DISubroutineType(types: !{{}})",
        ]
        own = [f"!{_FIRST + k} = {text}" for k, text in enumerate(self.texts)]
        return "\n".join([*head, *own, ""])


class NotedCode(Code):
    """The blocks of one function whose instructions know their line."""

    def __init__(self, module: Module, notes: LineNotes, name: str) -> None:
        super().__init__(module)
        self.notes = notes
        self.scope = notes.function(name)
        self.suffix = f" !dbg !{self.scope}"
        self.places: dict[int, int] = {}

    def put(self, text: str) -> str:
        """Append an instruction with a result, and its line."""
        name = super().put(text)
        self._note()
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result, and its line."""
        super().do(text)
        self._note()

    def _note(self) -> None:
        if not self.line:
            return
        place = self.places.get(self.line)
        if place is None:
            text = f"!DILocation(line: {self.line}, scope: !{self.scope})"
            place = self.places[self.line] = self.notes.new(text)
        self.block.lines[-1] += f", !dbg !{place}"


class NotedModule(Module):
    """A module whose functions are made of ``NotedCode``."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.notes = LineNotes()

    def new_code(self, name: str) -> Code:
        """Return the code of a new function."""
        return NotedCode(self, self.notes, name)

    def lines_of(self, kernel: Kernel) -> Mapping[int, int]:
        """Return the line of each statement, found by identity."""
        return statement_lines(kernel)

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.notes}"
