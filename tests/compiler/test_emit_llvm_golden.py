"""Emitted text for fixed targets: it depends on the target only, and it is read in reviews."""

from collections.abc import Callable

import pytest

from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.kernel_ir.target import Target
from tests.compiler.sample_programs import softmax, training_loop

TARGETS = {
    "avx512": Target(),
    "sse_no_libmvec": Target("x86-64", 128, "", 18, -1, -1),
}


@pytest.mark.parametrize("name", TARGETS)
def test_emitted_text(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"llvm/softmax_{name}", emit_llvm(softmax(), TARGETS[name]))
    golden(f"llvm/training_loop_{name}", emit_llvm(training_loop(), TARGETS[name]))


def test_emitting_is_deterministic() -> None:
    assert emit_llvm(softmax(), Target()) == emit_llvm(softmax(), Target())
