"""What is said about trees that do not fit: class and text of every error, compared with JAX."""

import dataclasses
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import given

from jaxlite import tree_util
from jaxlite.language import pytree
from tests.language.trees import Box, Pair, PairSubclass, Point, Triple, trees

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax_oracle
ju = jax.tree_util


def outcome(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except Exception as e:
        return (type(e).__name__, str(e))


def comparable(result):
    """Sort what JAX prints in the order of a set."""
    lines = "\n".join(map(str, result if isinstance(result, tuple) else [result])).split("\n")
    for i, line in enumerate(lines):
        if line.startswith("so the symmetric difference"):
            lines[i + 1] = " ".join(sorted(lines[i + 1].split()))
    return lines


PAIRS = [
    ((1, 2), (1,)),
    ((1, 2), [1, 2]),
    ([1], [1, 2]),
    ({"a": 1}, {"b": 1}),
    ({"a": 1, "b": 2}, {"a": 1}),
    ({"a": 1, "b": 2, "c": 3}, {"d": 1, "b": 2, "e": 3, "f": 4}),
    ({}, {"a": 1}),
    ({1: 1, 2: 2}, {1: 1}),
    ([1, 2], 3),
    ((), 1),
    (None, 1),
    (None, []),
    ([1], None),
    ({"a": None}, {"a": 1}),
    ((1, (2, 3)), (1, (2,))),
    ([{"a": (1, 2)}], [{"a": (1,)}]),
    (Pair(1, 2), (1, 2)),
    (Pair(1, 2), 3),
    (Pair(1, 2), Triple(1, 2, 3)),
    (Pair(1, 2), PairSubclass(1, 2)),
    ((1, 2), Pair(1, 2)),
    (OrderedDict(a=1), {"a": 1}),
    ({"a": 1}, OrderedDict(a=1)),
    (OrderedDict(a=1, b=2), OrderedDict(b=1, a=2)),
    (OrderedDict(a=1, b=2), OrderedDict(a=1)),
    (defaultdict(list, a=1), defaultdict(int, a=1)),
    (defaultdict(list, a=1), defaultdict(list, b=1)),
    (Box([1, 2], "t"), Box([1, 2, 3], "t")),
    (Box([1, 2], "t"), Box([1, 2], "a\nb")),
    (Box([1], "t"), [1]),
    (Point(1, 2, "p"), Point(1, 2, "q")),
    (Point(1, 2), 3),
]


@pytest.mark.parametrize(("prefix", "full"), PAIRS, ids=str)
def test_mismatches(prefix, full):
    def pair(*xs):
        return xs

    theirs = ju.tree_structure(prefix)
    ours = pytree.tree_structure(prefix)
    assert outcome(ours.flatten_up_to, full) == outcome(theirs.flatten_up_to, full)
    assert comparable(outcome(tree_util.tree_map, pair, prefix, full)) == comparable(
        outcome(ju.tree_map, pair, prefix, full)
    )
    assert comparable(outcome(tree_util.tree_map_with_path, pair, prefix, full)) == comparable(
        outcome(ju.tree_map_with_path, pair, prefix, full)
    )
    assert comparable(outcome(tree_util.tree_broadcast, prefix, full)) == comparable(
        outcome(ju.tree_broadcast, prefix, full)
    )


@given(trees, trees)
def test_any_two_trees_fit_or_not_as_in_jax(x, y):
    def pair(*xs):
        return xs

    assert comparable(outcome(tree_util.tree_map, pair, [x], [y])) == comparable(
        outcome(ju.tree_map, pair, [x], [y])
    )


def test_third_tree_is_named_by_the_same_words():
    assert outcome(tree_util.tree_map, max, [1, 2], [1, 2], [1, 2, 3]) == outcome(
        ju.tree_map, max, [1, 2], [1, 2], [1, 2, 3]
    )


@pytest.mark.parametrize("in_axes", [((0, 0),), ({"a": 0},), ([0],), ({"b": (0, 0), "c": 1},)])
def test_axes_that_are_no_prefix(in_axes):
    args = ({"b": np.ones(1)},)
    got = outcome(pytree.flatten_axes, "vmap in_axes", pytree.tree_structure(args), in_axes)
    expected = outcome(jax.vmap(lambda x: x, in_axes=in_axes), *args)
    assert got[0] == expected[0] == "ValueError"
    ours, theirs = comparable(got[1]), comparable(expected[1])
    if ours != theirs:  # the type of the leaves is an internal class in both libraries
        assert "different types" in got[1]
        assert ours[:3] == theirs[:3]


def test_unflatten_with_wrong_number_of_leaves():
    for leaves in ([1], [1, 2, 3], [], iter([1])):
        leaves = list(leaves)
        for x in ((1, 2), [1, (2,)]):
            assert outcome(pytree.tree_structure(x).unflatten, leaves) == outcome(
                ju.tree_structure(x).unflatten, leaves
            )


@pytest.mark.parametrize("x", [{1: 2, "a": 3}, {1: 2, (1, 2): 3}, [{None: 1, "a": 2}]], ids=str)
def test_dict_keys_that_cannot_be_sorted(x):
    got, expected = outcome(pytree.tree_flatten, x), outcome(ju.tree_flatten, x)
    assert got[0] == expected[0] == "ValueError"
    assert got[1].split("\n")[0] == expected[1]
    assert "OrderedDict" in got[1]


@pytest.mark.parametrize("result", [3, (1,), (1, 2), ((1, 2), 3, 4), [(1, 2), "q"], (None, "x")])
def test_flatten_functions_that_misbehave(result):
    class Bad:
        pass

    for library in (ju, tree_util):
        library.register_pytree_node(Bad, lambda _: result, lambda _, kids: kids)
    assert outcome(pytree.tree_flatten, Bad()) == outcome(ju.tree_flatten, Bad())
    assert outcome(pytree.tree_flatten_with_path, Bad()) == outcome(
        ju.tree_flatten_with_path, Bad()
    )


@pytest.mark.parametrize("result", [((1, 2), "x"), 3, (((1, 2, 3),), "x")])
def test_flatten_functions_with_keys_that_misbehave(result):
    class Bad:
        pass

    tree_util.register_pytree_with_keys(Bad, lambda _: result, lambda _, kids: kids)
    with pytest.raises(ValueError, match="The to_iterable_with_keys function for a custom PyTree"):
        pytree.tree_flatten_with_path(Bad())


def test_duplicate_registration():
    class Twice:
        pass

    def register(library, cls):
        library.register_pytree_node(cls, lambda _: ((), None), lambda _, __: None)

    for cls in (Twice, list, OrderedDict):
        for _ in range(2):
            got, expected = outcome(register, tree_util, cls), outcome(register, ju, cls)
        assert got == expected
    for cls in (Point, list):
        assert outcome(tree_util.register_dataclass, cls, ["x", "y"], ["name"]) == outcome(
            ju.register_dataclass, cls, ["x", "y"], ["name"]
        )


def make(**fields):
    return dataclasses.make_dataclass("D", [(n, int, f) for n, f in fields.items()])


def plain(name="D"):
    return make(a=dataclasses.field(), b=dataclasses.field())


class NotADataclass:
    pass


@pytest.mark.parametrize(
    ("cls", "args"),
    [
        (plain(), (["a"],)),
        (plain(), (None, ["b"])),
        (plain(), (["a"], [])),
        (plain(), (["a"], ["b", "c"])),
        (plain(), (["a", "b"], ["b"])),
        (plain(), (["a"], ["c"])),
        (NotADataclass, ()),
        (3, ()),
        (make(a=dataclasses.field(), b=dataclasses.field(init=False, default=3)), (["a", "b"], [])),
    ],
    ids=str,
)
def test_register_dataclass_errors(cls, args):
    got, expected = (outcome(lib.register_dataclass, cls, *args) for lib in (tree_util, ju))
    assert got == expected
    assert got[0] in ("TypeError", "ValueError")


def test_register_dataclass_options():
    fields = {
        "a": dataclasses.field(),
        "b": dataclasses.field(default=5),
        "c": dataclasses.field(default=6, metadata={"static": True}),
    }
    for library in (ju, tree_util):
        cls = library.register_dataclass(make(**fields))
        assert library.tree_leaves(cls(1, 2)) == [1, 2]
        back = library.tree_map(lambda v: v * 10, cls(1, 2))
        assert (back.a, back.b, back.c) == (10, 20, 6)
        cls = library.register_dataclass(make(**fields), ["a"], ["c"], drop_fields=["b"])
        assert library.tree_leaves(cls(1, 2)) == [1]
        assert library.tree_map(lambda v: v * 10, cls(1, 2)).b == 5
    built = tree_util.register_dataclass(NotADataclass, ["a"], [])
    value = built()
    value.a = 1
    assert tree_util.tree_leaves(value) == [1]


def test_fields_that_init_does_not_set_must_be_dealt_with():
    for options in ({}, {"drop_fields": ["b"]}):
        cls = make(a=dataclasses.field(), b=dataclasses.field(init=False, default=3))
        got, expected = (outcome(lib.register_dataclass, cls, **options) for lib in (tree_util, ju))
        assert got == expected
        assert got[0] == "ValueError"


def test_transpose_reduce_and_constructors():
    for lib in (tree_util, ju):
        td = lib.tree_structure
        assert outcome(lib.tree_transpose, td((1, 2)), td([1, 1]), ([1], [2])) == (
            "TypeError",
            "Mismatch\nPyTreeDef(([*], [*]))\n != \nPyTreeDef(([*, *], [*, *]))",
        )
        assert outcome(lib.tree_transpose, td([1, 2]), None, 3) == (
            "ValueError",
            "Expected list, got 3.",
        )
        assert outcome(lib.tree_reduce, max, [])[0] == "TypeError"
        assert outcome(lib.tree_reduce_associative, max, []) == (
            "TypeError",
            "Must specify identity for parallel reduction of empty sequence.",
        )
        kind, text = outcome(lib.PyTreeDef)
        assert kind == "TypeError"
        assert "PyTreeDef: no constructor defined!" in text
        assert outcome(lib.register_pytree_node_class, int)[0] == "AttributeError"
        assert outcome(lib.Partial)[0] == "TypeError"
        assert outcome(lib.Partial, 3) == ("TypeError", "the first argument must be callable")


def test_is_leaf_must_be_callable():
    for f in (tree_util.tree_leaves, ju.tree_leaves):
        with pytest.raises(TypeError):
            f([1], 5)


def test_structure_that_contains_itself():
    x = []
    x.append(x)
    with pytest.raises(RecursionError):
        pytree.tree_flatten(x)
