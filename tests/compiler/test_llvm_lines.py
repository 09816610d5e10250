"""Lines of a loop nest in LLVM IR: machine code stays the same, numbers are those of the text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import jaxlite
import jaxlite.numpy as jnp
from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.kernel_ir.pretty import statement_lines
from jaxlite.runtime import cpu


def rows(x: Any) -> Any:
    z = x - jnp.mean(x, axis=1, keepdims=True)
    return jnp.sum(jnp.tanh(z) ** 2, axis=1)


def instructions(assembly: str) -> list[str]:
    return [line for line in assembly.split("\n") if re.match(r"\s+[a-z]", line)]


def test_lines_change_no_instruction() -> None:
    compilation = jaxlite.jit(rows).lower(np.ones((64, 37), np.float32)).compilation
    noted = emit_llvm(compilation.program, cpu.host_target(), with_lines=True)
    compiler = cpu.compiler()
    with_lines, without = compiler.assembly(noted), compiler.assembly(compilation.source)
    assert ".loc" in with_lines
    assert instructions(with_lines) == instructions(without)


def test_numbers_are_those_of_the_printed_text() -> None:
    compilation = jaxlite.jit(rows).lower(np.ones((64, 37), np.float32)).compilation
    for step in compilation.program.steps:
        kernel = step.kernel
        text = [x for x in str(kernel).split("\n") if not x.lstrip().startswith("# ")]
        numbers = statement_lines(kernel)
        for stmt in kernel.body:
            line = text[numbers[id(stmt)] - 1].strip()
            name = getattr(stmt, "name", getattr(stmt, "index", getattr(stmt, "buffer", "")))
            assert re.match(rf"(for |acc )?{name}\b", line), line
        assert max(numbers.values()) == len(text)
