"""Which names a cell reads and binds, by definite assignment."""

from __future__ import annotations

import ast

import pytest

from jaxlite.diagnose.cell_names import names_of

CASES = [
    ("acc += i", {"acc", "i"}, {"acc"}),
    ("y = [(m := q) for q in xs]", {"xs"}, {"m", "y"}),
    ("h = tanh(x @ w)\ny = h", {"tanh", "x", "w"}, {"h", "y"}),
    ("def f(a):\n    return a + c + f(a)\nz = f(x)", {"c", "x"}, {"f", "z"}),
    ("if c:\n    y = 1\nz = y", {"c", "y"}, {"y", "z"}),
    ("if c:\n    y = 1\nelse:\n    y = 2\nz = y", {"c"}, {"y", "z"}),
    ("for i in range(n):\n    s = s + i", {"range", "n", "s"}, {"i", "s"}),
    ("for i in xs:\n    last = i\nz = last", {"xs", "last"}, {"i", "last", "z"}),
    ("while go:\n    go = f(go)", {"go", "f"}, {"go"}),
    ("x[i] = v", {"x", "i", "v"}, {"x"}),
    ("x.a = v", {"x", "v"}, set()),
    ("g = lambda a, b=d: a + b + e", {"d", "e"}, {"g"}),
    ("with open(p) as f:\n    t = f.read()", {"open", "p"}, {"f", "t"}),
    ("try:\n    a = g()\nexcept E as e:\n    a = 0\nb = a", {"g", "E"}, {"a", "e", "b"}),
    ("a, (b, *c) = t", {"t"}, {"a", "b", "c"}),
    ("import numpy as np\nfrom math import pi\ny = np.pi + pi", set(), {"np", "pi", "y"}),
    ("y = {k: v for k, v in d.items() if k in keep}", {"d", "keep"}, {"y"}),
    ("y = a if (a := f()) else b", {"f", "b"}, {"a", "y"}),
    ("z = (p := 1) and p", set(), {"p", "z"}),
    (
        "match v:\n    case [a, b]:\n        y = a\n    case _:\n        y = 0",
        {"v"},
        {"a", "b", "y"},
    ),
    ("class C(B):\n    k = q\n", {"B", "q"}, {"C"}),
    ("del x", {"x"}, set()),
    ("def f():\n    x = 1\n    return x\ny = x", {"x"}, {"f", "y"}),
]


@pytest.mark.parametrize(("source", "reads", "binds"), CASES)
def test_names_of_a_cell(source: str, reads: set[str], binds: set[str]) -> None:
    names = names_of(ast.parse(source))
    assert set(names.reads) == reads
    assert set(names.binds) == binds
