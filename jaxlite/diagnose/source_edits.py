"""Edits of the user's source as diffs. In: places in a file. Out: the new text.

Nothing here writes a file: a fix is shown, and the user applies it.
"""

from __future__ import annotations

import ast
import difflib
import functools
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jaxlite.language.source import SourceLine

__all__ = ["Edit", "Source", "diff_text"]

#: Replace the bytes from start to end by the text.
Edit: TypeAlias = tuple[int, int, str]
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Source:
    """A parsed file. Positions are byte offsets, as Python's own column numbers are."""

    file: str
    text: str
    tree: ast.Module

    @classmethod
    def of(cls, file: str) -> Source | None:
        """Return the source as Python knows it (files, notebook cells), or None."""
        return _parsed(file, "".join(linecache.getlines(file)))

    @functools.cached_property
    def data(self) -> bytes:
        """The text as bytes."""
        return self.text.encode()

    @functools.cached_property
    def line_starts(self) -> list[int]:
        """Offset of every line."""
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    @functools.cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around every node."""
        return {c: p for p in ast.walk(self.tree) for c in ast.iter_child_nodes(p)}

    def span(self, node: Any) -> tuple[int, int]:
        """Return start and end of a node."""
        return (
            self.line_starts[node.lineno - 1] + node.col_offset,
            self.line_starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def segment(self, node: Any) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around ``node``, from inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """Return the innermost statement that holds ``node``."""
        for n in (node, *self.around(node)):
            if isinstance(n, ast.stmt):
                return n
        return None

    def call_at(self, line: SourceLine | None) -> ast.Call | None:
        """Return the call that was running at ``line``."""
        if line is None or line.file != self.file:
            return None
        for i, position in enumerate(line.code.co_positions()):
            if i == line.lasti // 2 and None not in position:
                row, end_row, column, end_column = position
                for node in ast.walk(self.tree):
                    if isinstance(node, ast.Call) and (
                        (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
                        == (row, end_row, column, end_column)
                    ):
                        return node
        return None

    def function_at(self, line: int, name: str) -> FunctionNode | None:
        """Return the function whose code begins at ``line``, if there is exactly one."""
        found: list[FunctionNode] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == line:
                found.append(node)
            elif isinstance(node, ast.FunctionDef) and node.name == name:
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                if first == line:
                    found.append(node)
        return found[0] if len(found) == 1 else None

    def line_span(self, node: Any) -> tuple[int, int]:
        """Return the whole lines of a statement, decorators included."""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        return self.line_starts[first - 1], self.line_starts[node.end_lineno]

    def is_alone(self, node: Any) -> bool:
        """Say whether the lines of a statement hold nothing else but a comment."""
        start, end = self.line_span(node)
        first, last = self.span(node)
        decorated = bool(getattr(node, "decorator_list", ()))
        before = b"" if decorated else self.data[start:first]
        after = self.data[last:end].strip()
        return not before.strip() and (not after or after.startswith(b"#"))

    def span_with_semicolon(self, node: Any) -> tuple[int, int]:
        """Return start and end of a statement, with a semicolon behind it."""
        start, end = self.span(node)
        rest = self.data[end : self.line_span(node)[1]]
        if rest.lstrip().startswith(b";"):
            end += len(rest) - len(rest.lstrip().removeprefix(b";").lstrip(b" \t"))
        return start, end

    def indent(self, node: Any) -> str:
        """Return the indentation of a statement."""
        start = self.line_starts[node.lineno - 1]
        line = self.data[start:].split(b"\n", 1)[0].decode()
        return line[: len(line) - len(line.lstrip())]

    def alias(self, module: str) -> str | None:
        """Return the name that the file imports ``module`` under, or None."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for a in node.names:
                    if a.name == module:
                        return a.asname or (a.name if "." not in a.name else None)
        return None

    def import_edit(self, statement: str) -> Edit:
        """Return the edit that puts an import below the docstring and ``__future__``."""
        row = 0
        for node in self.tree.body:
            is_doc = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not is_doc and getattr(node, "module", "") != "__future__":
                break
            row = node.end_lineno or 0
        return self.line_starts[row], self.line_starts[row], f"{statement}\n"

    def apply(self, edits: Sequence[Edit]) -> str:
        """Return the text with all edits made; of overlapping ones the outer wins."""
        data = self.data
        if not data.endswith(b"\n"):
            data += b"\n"
        start_of_rest = len(data)
        for start, end, text in sorted(set(edits), key=lambda e: (e[0], e[1]), reverse=True):
            if end > start_of_rest:
                continue
            data = data[:start] + text.encode() + data[end:]
            start_of_rest = start
        return data.decode()


@functools.lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> Source | None:
    if not text:
        return None
    try:
        return Source(file, text, ast.parse(text))
    except (SyntaxError, ValueError):  # a cell with magics, or not Python at all
        return None


def diff_text(old: str, new: str, file: str) -> str:
    """Return a small unified diff."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), file, file, n=0, lineterm="")
    return "\n".join(lines)
