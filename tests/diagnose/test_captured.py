"""What a function reads from outside, and what has changed since."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import jaxlite.numpy as jnp
from jaxlite.diagnose.captured import capture, changes
from jaxlite.diagnose.reads import reads_of, writes_of


def define(source: str, **names: Any) -> dict[str, Any]:
    """Run ``source`` with ``names`` as a user's module would and return its names."""
    namespace = {"np": np, "jnp": jnp, **names}
    exec(compile(source, "<user>", "exec"), namespace)
    return namespace


def paths(fun: Any) -> dict[str, str]:
    return {v.path: v.shown for v in capture(fun)}


def test_globals_closures_and_nested_functions_are_found() -> None:
    n = define(
        "def make(a):\n    def f(x):\n        g = lambda y: y * scale + a\n        return g(x)\n   "
        " return f\nf = make(3)",
        scale=2.0,
    )
    assert paths(n["f"]) == {"scale": "2.0", "a": "3"}


def test_names_bound_inside_are_no_reads() -> None:
    n = define("def f(x):\n    scale = 2.0\n    return [scale * i for i in x]")
    assert paths(n["f"]) == {}


def test_helpers_are_followed_and_modules_are_not() -> None:
    n = define(
        "def helper(v):\n    return np.sin(v) * k\ndef f(x):\n    return helper(x) + np.pi", k=4
    )
    assert paths(n["f"]) == {"helper": "function helper", "k": "4"}


def test_attributes_of_objects_are_followed() -> None:
    class Model:
        def __init__(self) -> None:
            self.scale = 2.0
            self.inner = {"a": 1}

    n = define("def f(x):\n    return x * model.scale", model=Model())
    (value,) = capture(n["f"])
    assert (value.path, value.shown) == ("model.scale", "2.0")
    n["model"].scale = 3.0
    (change,) = changes((value,))
    assert (change.old, change.new) == ("2.0", "3.0")


class Scaler:
    def __init__(self) -> None:
        self.scale = 2.0
        self.table = {"a": 1}

    def predict(self, x: Any) -> Any:
        return self.shift(x) * self.scale

    def shift(self, x: Any) -> Any:
        return x + self.table["a"]

    def __call__(self, x: Any) -> Any:
        return x * self.scale


def test_methods_of_objects_are_followed() -> None:
    n = define("def f(x):\n    return model.predict(x)", model=Scaler())
    captured = capture(n["f"])
    assert {v.path for v in captured} == {"model.scale", "model.table"}
    n["model"].scale = 3.0
    assert [c.value.path for c in changes(captured)] == ["model.scale"]
    n = define("def f(x):\n    return model(x)", model=Scaler())
    assert paths(n["f"])["model.scale"] == "2.0"


def test_bound_method_reads_its_object() -> None:
    model = Scaler()
    captured = capture(model.predict)
    assert {v.path for v in captured} == {"self.scale", "self.table"}
    model.table["a"] = 5
    assert [(c.old, c.new) for c in changes(captured)] == [("{'a': 1}", "{'a': 5}")]


def test_changes_of_every_kind_are_seen() -> None:
    start = {
        "number": 1.0, "text": "a", "items": [1, 2], "table": {"lr": 0.1}, "tags": {1},
        "array": np.zeros(4), "big": np.zeros(100_000), "ours": jnp.zeros(2), "pair": (1, [2]),
    }  # fmt: skip
    source = "def f():\n    return (number, text, items, table, tags, array, big, ours, pair)"
    n = define(source, **start)
    captured = capture(n["f"])
    assert changes(captured) == []
    n["number"] = 2.0
    n["text"] = "b"
    n["items"].append(3)
    n["table"]["lr"] = 0.2
    n["tags"].add(5)
    n["array"][2] = 1.0
    n["big"][:] = 1.0
    n["ours"] = jnp.zeros(2)
    n["pair"][1].append(1)
    assert {c.value.path for c in changes(captured)} == set(start)


def test_deleted_name_is_a_change() -> None:
    n = define("def f(x):\n    return x + gone", gone=1)
    captured = capture(n["f"])
    del n["gone"]
    (change,) = changes(captured)
    assert change.new == "deleted"


def test_equal_numbers_are_no_change_but_other_types_are() -> None:
    n = define("def f(x):\n    return x + k", k=1000)
    captured = capture(n["f"])
    n["k"] = int("1000")
    assert changes(captured) == []
    n["k"] = 1000.0
    assert len(changes(captured)) == 1


def test_mutability_verdicts() -> None:
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        a: int = 1

    @dataclasses.dataclass
    class Open:
        a: int = 1

    n = define(
        "def f():\n    return (t, l, fr, op, a)",
        t=(1,),
        l=[1],
        fr=Frozen(),
        op=Open(),
        a=np.ones(1),
    )
    verdicts = {v.path: v.is_mutable for v in capture(n["f"])}
    assert verdicts == {"t": False, "l": True, "fr": False, "op": True, "a": True}


def test_reads_and_writes_of_code() -> None:
    n = define("def f(x):\n    global count\n    count = count + 1\n    return x + model.w.scale")
    reads = {(r.name, r.kind, r.attributes) for r in reads_of(n["f"].__code__)}
    assert reads == {("count", "global", ()), ("model", "global", ("w", "scale"))}
    assert [(w.name, w.kind) for w in writes_of(n["f"].__code__)] == [("count", "global")]
