"""Stage 6 of 7, emit, for GPUs. In: kernels. Out: CUDA C that NVRTC compiles, and how to launch it.

    for i in 4, vector:                 extern "C" __global__ void __launch_bounds__(256)
      out0[i] = in0[i] * 2.0            fused_mul_0(const float* in0, float* out0) {
                                          const int task = blockIdx.x * (int)256 + threadIdx.x;
                                          if (task < 4) {
                                            const int i = task;
                                            out0[i] = in0[i] * 2.0f;
                                          }
                                        }

The text is readable on purpose: it is what the kernels view shows. Equal kernels give equal text.
Invariant: results do not depend on the order in which threads run; there are no atomics.
Next: ``runtime/cuda.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jaxlite.compiler.cuda_body import Body
from jaxlite.compiler.cuda_expr import Expressions
from jaxlite.compiler.cuda_helpers import helpers_text
from jaxlite.compiler.cuda_parts import Part, parts_of, position_names
from jaxlite.kernel_ir.nodes import Kernel
from jaxlite.kernel_ir.program import Branch, Launch, Loop, Program, Step, While

__all__ = ["CudaKernel", "CudaLaunch", "emit_cuda", "emit_kernel", "kernels_of"]

_SLOT_BYTES = 16


@dataclass(frozen=True, slots=True)
class CudaLaunch:
    """One launch: a function of the module, and the shape of its grid."""

    entry: str
    blocks: int
    threads: int


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """CUDA C of one kernel.

    Every function of ``source`` takes one pointer per ``kernel.params`` entry and, if
    ``scratch_bytes``, a pointer to that many bytes; they are launched in order.
    """

    kernel: Kernel
    source: str
    launches: tuple[CudaLaunch, ...]
    scratch_bytes: int = 0

    def __str__(self) -> str:
        return self.source


def emit_kernel(kernel: Kernel) -> CudaKernel:
    """Return the CUDA C of one kernel."""
    narrow = all(p.size < 2**31 - 2**20 for p in kernel.params)
    expressions = Expressions(narrow)
    expressions.positions = position_names(kernel)
    parts = parts_of(kernel)
    slots = {name: _SLOT_BYTES * k for k, name in enumerate(_left(parts))}
    base = re.sub(r"\W", "_", kernel.name)
    launches: list[CudaLaunch] = []
    functions: list[str] = []
    for number, part in enumerate(parts):
        entry = f"{base}_{number}"
        functions.append(Body(kernel, part, expressions).text(entry, slots))
        launches.append(CudaLaunch(entry, part.blocks, part.threads))
    comments = "\n".join(f"// {c}" for c in kernel.comments)
    helpers = helpers_text(expressions.used)
    source = "\n\n".join(text for text in (helpers, comments, *functions) if text) + "\n"
    return CudaKernel(kernel, source, tuple(launches), _SLOT_BYTES * len(slots))


def _left(parts: list[Part]) -> list[str]:
    return [name for part in parts for name in part.leaves]


def kernels_of(steps: tuple[Step, ...]) -> Iterator[Kernel]:
    """Yield the kernels that ``steps`` launch, those in loops and branches too."""
    for step in steps:
        match step:
            case Launch(kernel, _):
                yield kernel
            case Loop(_, _, body, _):
                yield from kernels_of(body)
            case While(cond, _, body):
                yield from kernels_of(cond + body)
            case Branch(_, branches):
                for branch in branches:
                    yield from kernels_of(branch)


def emit_cuda(program: Program) -> tuple[CudaKernel, ...]:
    """Return the CUDA C of every kernel of a program, each once, in order of first launch."""
    distinct = dict.fromkeys(kernels_of(program.steps))
    return tuple([emit_kernel(kernel) for kernel in distinct])
