"""A program: the ordered steps of one jitted call, as pure data.

Made by ``compiler``, run by ``runtime``. In: kernels. Out: ``Program``. Invariant: every view stays
inside its buffer; steps run in order, and a step may read only what an earlier step, an input or a
constant has written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from jaxlite.kernel_ir.nodes import PRINTER, DType, Kernel

BufferKind: TypeAlias = Literal["input", "output", "temp"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A C-contiguous array. A ``temp`` is in the workspace at ``offset_bytes`` (-1: unplanned)."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    kind: BufferKind
    offset_bytes: int = -1

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class View:
    """A contiguous part of a buffer: starts at element ``offset + sum(counter * stride)``.

    ``counters`` are pairs (loop counter name, stride in elements): row ``i`` of a scanned array is
    the view ``xs + i * row_size``, without a copy. ``shape`` is the shape of the part.
    """

    buffer: str
    shape: tuple[int, ...]
    offset: int = 0
    counters: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """Run ``kernel`` with one view per ``kernel.params`` entry."""

    kernel: Kernel
    args: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """Call a library routine, e.g. ``gemm``; ``compiler/llvm_library.py`` explains ``params``."""

    routine: str
    ins: tuple[View, ...]
    outs: tuple[View, ...]
    params: tuple[tuple[str, Any], ...] = ()
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostCall:
    """Run ``primitive.impl`` on the host arrays (or a callback): the program's escape to Python."""

    primitive: Any
    params: tuple[tuple[str, Any], ...]
    ins: tuple[View, ...]
    outs: tuple[View, ...]
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy the elements of ``src`` to ``dst`` (same dtype and size)."""

    src: View
    dst: View


@dataclass(frozen=True, slots=True)
class Loop:
    """``for counter in range(trip)``, backwards when ``reverse``.

    ``progress`` is the number under which it reports how far it is, 0 for not at all.
    """

    counter: str
    trip: int
    body: tuple[Step, ...]
    reverse: bool = False
    progress: int = 0


@dataclass(frozen=True, slots=True)
class While:
    """``loop: cond; if not flag: leave; body``. ``flag`` is a bool scalar that ``cond`` writes.

    ``progress`` is as for ``Loop``.
    """

    cond: tuple[Step, ...]
    flag: View
    body: tuple[Step, ...]
    progress: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """Run one of ``branches`` by the i32 scalar ``index`` (already clamped)."""

    index: View
    branches: tuple[tuple[Step, ...], ...]


Step: TypeAlias = Launch | LibraryCall | HostCall | Copy | Loop | While | Branch


@dataclass(frozen=True, slots=True)
class Program:
    """Everything one jitted call does. ``inputs`` and ``outputs`` are buffer names in call order.

    An output that is the very same array as an input or a constant is a ``Copy``: outputs never
    alias.
    """

    name: str
    buffers: tuple[Buffer, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    steps: tuple[Step, ...]
    workspace_bytes: int = 0
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        from_text = PRINTER.get("program")
        return from_text(self) if from_text else repr(self)
