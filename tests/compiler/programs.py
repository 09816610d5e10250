"""Programs for tests: stage a function of primitives, run it eagerly, interpreted and natively."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.compiler.block import consts_of
from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.compiler.fuse import fuse
from jaxlite.compiler.lower import lower
from jaxlite.compiler.optimise import optimise
from jaxlite.compiler.plan import FusionPlan
from jaxlite.compiler.plan_memory import plan_memory
from jaxlite.kernel_ir.check import check_program
from jaxlite.kernel_ir.interpret import interpret_program
from jaxlite.kernel_ir.program import Program
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.check import check_jaxpr
from jaxlite.language.jaxpr import ClosedJaxpr, Literal
from jaxlite.runtime import cpu
from jaxlite.transforms.stage_out import stage_out

Arrays = Sequence[np.ndarray[Any, Any]]

#: Relative and absolute error allowed per dtype: sums may be taken in another order.
TOLERANCE = {
    "float16": (2e-2, 2e-2),
    "bfloat16": (6e-2, 6e-2),
    "float32": (3e-5, 3e-5),
    "complex64": (3e-5, 3e-5),
    "float64": (1e-12, 1e-12),
    "complex128": (1e-12, 1e-12),
}


def f32(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return normal float32 numbers of ``shape``."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def staged(f: Callable[..., Sequence[Any]], *arrays: Any) -> ClosedJaxpr:
    """Return the jaxpr of ``f`` on arguments like ``arrays``."""
    return stage_out(f, [ShapedArray(np.shape(a), np.asarray(a).dtype) for a in arrays])


def run_eagerly(closed: ClosedJaxpr, arrays: Arrays) -> list[np.ndarray[Any, Any]]:
    """Run every equation's ``impl`` on NumPy arrays."""
    jaxpr = closed.jaxpr
    env = dict(zip(jaxpr.constvars, map(consts_of, closed.consts), strict=True))
    env.update(zip(jaxpr.invars, arrays, strict=True))

    def read(atom: Any) -> Any:
        return atom.array()._data if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        outs: Any = eqn.primitive.impl(np, *map(read, eqn.invars), **eqn.params)
        outs = outs if isinstance(outs, tuple) else (outs,)
        for var, out in zip(eqn.outvars, outs, strict=True):
            env[var] = np.asarray(out)
    return [np.asarray(read(a)) for a in jaxpr.outvars]


def make_program(closed: ClosedJaxpr, is_on: bool = True) -> tuple[FusionPlan, Program, Arrays]:
    """Return the fusion plan, the checked program and its constants."""
    plan = fuse(closed, is_on=is_on)
    program, values = lower(plan)
    program = plan_memory(program)
    check_program(program)
    return plan, program, [consts_of(v) for v in values]


def assert_same(got: Arrays, want: Arrays) -> None:
    """Compare results: shapes and dtypes exactly, values within the dtype's tolerance."""
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        rtol, atol = TOLERANCE.get(a.dtype.name, (0, 0))
        wide = complex if dtypes.kind_of(a.dtype) == "c" else float
        if rtol:
            np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(a, b)


def check_stages(
    f: Callable[..., Sequence[Any]],
    *arrays: Any,
    expected: Arrays | None = None,
    is_interpreted: bool = True,
    is_native: bool = True,
) -> tuple[FusionPlan, Program]:
    """Check that eager, optimised, fused, unfused, interpreted and native runs of ``f`` agree.

    Returns the fused plan and its program, for further looks.
    """
    closed = staged(f, *arrays)
    want = run_eagerly(closed, arrays) if expected is None else expected
    better = optimise(closed)
    check_jaxpr(better)
    plan, program, consts = make_program(better)
    assert plan.n_kernels <= max(count_equations(better), len(better.jaxpr.outvars))
    inputs = [*map(np.asarray, arrays), *consts]
    if is_interpreted:
        assert_same(interpret_program(program, inputs), want)
        _, unfused, unfused_consts = make_program(closed, is_on=False)
        assert_same(interpret_program(unfused, [*map(np.asarray, arrays), *unfused_consts]), want)
    if is_native:
        assert_same(run_natively(program, consts, arrays), want)
    return plan, program


def run_natively(program: Program, consts: Arrays, arrays: Arrays) -> Arrays:
    """Compile and run a program."""
    executable = cpu.load(emit_llvm(program, cpu.host_target()), program, tuple(consts))
    datas = tuple([np.ascontiguousarray(a).reshape(np.shape(a)) for a in arrays])
    return list(executable.run(datas))


def count_equations(closed: ClosedJaxpr) -> int:
    """Return the number of equations, those of nested jaxprs included."""
    total = 0
    for eqn in closed.jaxpr.eqns:
        total += 1
        for value in eqn.params.values():
            items = value if isinstance(value, tuple) else (value,)
            total += sum(count_equations(v) for v in items if isinstance(v, ClosedJaxpr))
    return total
