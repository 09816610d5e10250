"""Index arithmetic in normal form: the same number, said in fewer words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlite.compiler.index import Form, Normaliser, collapsible
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.interpret import interpret_kernel

I, J, K = ir.index("i"), ir.index("j"), ir.index("k")
EXTENTS = {I: 6, J: 12, K: 5}
RANGES = {i: (0, n - 1) for i, n in EXTENTS.items()}


def c(n: int) -> ir.Expr:
    return ir.i64(n)


def op(name: str, x: ir.Expr, y: ir.Expr) -> ir.Expr:
    return ir.binary(name, x, y)


def flat() -> ir.Expr:
    """Return i*12 + j."""
    return op("add", op("mul", I, c(12)), J)


RULES = [
    (op("div", flat(), c(12)), I),
    (op("rem", flat(), c(12)), J),
    (op("add", op("mul", op("div", flat(), c(7)), c(7)), op("rem", flat(), c(7))), flat()),
    (op("sub", op("add", I, J), I), J),
    (op("min", J, c(11)), J),
    (op("max", op("add", J, c(1)), c(0)), op("add", J, c(1))),
    (op("rem", op("add", op("mul", I, c(8)), c(3)), c(4)), c(3)),
    (op("mul", op("add", I, c(0)), c(1)), I),
]


@pytest.mark.parametrize("case", range(len(RULES)))
def test_known_forms(case: int) -> None:
    before, after = RULES[case]
    assert Normaliser(RANGES).rewrite(before) is after


def test_comparisons_that_the_ranges_decide_are_folded() -> None:
    value, other = ir.const(1.0, np.float32), ir.const(2.0, np.float32)
    chosen = ir.select(ir.compare("lt", J, c(12)), value, other)
    assert Normaliser(RANGES).rewrite(chosen) is value
    open_one = Normaliser(RANGES)
    assert open_one.rewrite(ir.select(ir.compare("lt", J, c(4)), value, other)).kind == "select"
    assert open_one.splits == {J: {4}}


@pytest.mark.parametrize(
    ("condition", "split"),
    [
        (ir.compare("lt", J, c(4)), 4),
        (ir.compare("le", J, c(4)), 5),
        (ir.compare("ge", op("mul", J, c(3)), c(10)), 4),
        (ir.compare("gt", op("mul", J, c(3)), c(9)), 4),
        (ir.compare("lt", op("sub", c(7), J), c(0)), 8),
        (ir.compare("le", op("sub", c(7), J), c(0)), 7),
    ],
)
def test_loops_are_cut_where_a_comparison_changes(condition: ir.Expr, split: int) -> None:
    normaliser = Normaliser(RANGES)
    one, two = c(1), c(2)
    normaliser.rewrite(ir.select(condition, one, two))
    assert normaliser.splits == {J: {split}}
    values = [evaluate(ir.select(condition, one, two), {"j": j}) for j in range(12)]
    assert values[split - 1] != values[split]
    assert len(set(values[:split])) == len(set(values[split:])) == 1


def test_an_index_may_stand_for_another() -> None:
    # A loop that starts at 3 runs from 0; the remainder of the new index is another value.
    normaliser = Normaliser({J: (0, 3)}, {J: Form({J: 1}, 3)})
    e = op("add", op("rem", J, c(2)), op("mul", op("div", J, c(2)), c(5)))
    new = normaliser.rewrite(e)
    for j in range(4):
        assert evaluate(new, {"j": j}) == evaluate(e, {"j": j + 3})


def test_loops_that_every_sum_runs_through_are_one() -> None:
    normaliser = Normaliser(RANGES)
    normaliser.rewrite(op("add", op("mul", flat(), c(5)), K))
    loops = list(EXTENTS.items())
    assert [[i for i, _ in g] for g in collapsible(normaliser, loops)] == [[I, J, K]]
    normaliser.rewrite(K)
    assert [[i for i, _ in g] for g in collapsible(normaliser, loops)] == [[I, J], [K]]


def evaluate(e: ir.Expr, values: dict[str, int]) -> int:
    """Run ``e`` in the interpreter with loop indices set to ``values``."""
    body: tuple[ir.Stmt, ...] = (ir.Store("out", ir.i64(0), e),)
    for name, value in values.items():
        # The last round of the loop has the index wanted.
        body = (ir.For(name, value + 1, body),)
    kernel = ir.Kernel("k", (ir.Param("out", ir.I64, 1, is_output=True),), body)
    out = np.zeros(1, np.int64)
    interpret_kernel(kernel, {"out": out})
    return int(out[0])


@st.composite
def sums(draw: st.DrawFn, depth: int = 4) -> ir.Expr:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([I, J, K, c(0), c(1), c(3), c(12)]))
    name = draw(st.sampled_from(["add", "sub", "mul", "div", "rem", "min", "max"]))
    x = draw(sums(depth - 1))
    if name in ("mul", "div", "rem"):
        return op(name, x, c(draw(st.sampled_from([1, 2, 3, 4, 6, 12]))))
    return op(name, x, draw(sums(depth - 1)))


@given(sums(), st.integers(0, 5), st.integers(0, 11), st.integers(0, 4))
def test_rewriting_changes_no_value(e: ir.Expr, i: int, j: int, k: int) -> None:
    values = {"i": i, "j": j, "k": k}
    assert evaluate(Normaliser(RANGES).rewrite(e), values) == evaluate(e, values)
    moved = Normaliser(RANGES, {J: Form({J: 1}, 2)}).rewrite(e)
    if j <= 9:
        assert evaluate(moved, values) == evaluate(e, {**values, "j": j + 2})
