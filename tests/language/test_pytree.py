"""Pytrees of every kind against JAX: leaves, structures, key paths, and the way back."""

import copy
import functools
import pickle
import threading
import weakref
from collections import OrderedDict, defaultdict

import pytest
from hypothesis import given

from jaxlite import tree, tree_util
from jaxlite.language import pytree
from tests.language.trees import Box, Keyed, Mode, Pair, PairSubclass, Point, trees

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax_oracle
ju = jax.tree_util


def is_small(x):
    return isinstance(x, (tuple, dict)) and len(x) < 2


def is_none(x):
    return x is None


def outcome(f, *args):
    try:
        return [id(subtree) for subtree in f(*args)]
    except ValueError as e:
        return str(e)


def key_names(pairs):
    return [[(type(k).__name__, str(k)) for k in path] for path, _ in pairs]


@given(trees)
def test_flatten_like_jax(x):
    leaves, treedef = pytree.tree_flatten(x)
    their_leaves, their_treedef = ju.tree_flatten(x)
    assert len(leaves) == len(their_leaves)
    assert all(a is b for a, b in zip(leaves, their_leaves))
    assert str(treedef) == str(their_treedef)
    assert (treedef.num_leaves, treedef.num_nodes) == (
        their_treedef.num_leaves,
        their_treedef.num_nodes,
    )
    assert treedef.node_data() == their_treedef.node_data()
    assert [str(c) for c in treedef.children()] == [str(c) for c in their_treedef.children()]
    assert pytree.treedef_is_leaf(treedef) == ju.treedef_is_leaf(their_treedef)


@given(trees)
def test_flatten_with_is_leaf_like_jax(x):
    for is_leaf in (is_small, is_none):
        leaves, treedef = pytree.tree_flatten(x, is_leaf)
        their_leaves, their_treedef = ju.tree_flatten(x, is_leaf)
        assert len(leaves) == len(their_leaves)
        assert all(a is b for a, b in zip(leaves, their_leaves))
        assert str(treedef) == str(their_treedef)


@given(trees)
def test_unflatten_is_the_inverse(x):
    leaves, treedef = pytree.tree_flatten(x)
    back = treedef.unflatten(leaves)
    assert type(back) is type(x)
    assert back == x
    assert repr(back) == repr(ju.tree_unflatten(ju.tree_structure(x), leaves))
    assert pytree.tree_structure(back) == treedef
    assert treedef.unflatten(iter(leaves)) == x


@given(trees)
def test_paths_like_jax(x):
    pairs, treedef = pytree.tree_flatten_with_path(x)
    their_pairs, _ = ju.tree_flatten_with_path(x)
    assert key_names(pairs) == key_names(their_pairs)
    assert all(a is b for (_, a), (_, b) in zip(pairs, their_pairs))
    assert treedef == pytree.tree_structure(x)
    for (path, _), (their_path, _) in zip(pairs, their_pairs):
        assert pytree.keystr(path) == ju.keystr(their_path)
        assert pytree.keystr(path, simple=True, separator="/") == ju.keystr(
            their_path, simple=True, separator="/"
        )


@given(trees)
def test_same_structure_is_the_same_object(x):
    treedef = pytree.tree_structure(x)
    assert pytree.tree_structure(x) is treedef
    again = pytree.tree_structure(copy.deepcopy(x))
    assert again == treedef
    assert hash(again) == hash(treedef)
    # Metadata of a user's class is the same only if it is the same object.
    assert again is treedef or "Mode" in str(treedef)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert copy.deepcopy(treedef) is treedef
    assert copy.copy(treedef) is treedef


@given(trees, trees)
def test_equality_like_jax(x, y):
    ours, theirs = pytree.tree_structure(x), ju.tree_structure(x)
    other, their_other = pytree.tree_structure(y), ju.tree_structure(y)
    assert (ours == other) == (theirs == their_other)
    assert (ours != other) == (theirs != their_other)
    assert ours != str(ours)


@given(trees, trees)
def test_flatten_up_to_and_compose_like_jax(x, y):
    ours, theirs = pytree.tree_structure(x), ju.tree_structure(x)
    assert str(ours.compose(pytree.tree_structure(y))) == str(theirs.compose(ju.tree_structure(y)))
    assert ours.compose(pytree.LEAF) == ours
    full = ours.unflatten([y] * ours.num_leaves)
    assert [id(s) for s in ours.flatten_up_to(full)] == [id(y)] * ours.num_leaves
    assert outcome(ours.flatten_up_to, y) == outcome(theirs.flatten_up_to, y)


@given(trees)
def test_tree_map_like_jax(x):
    def f(leaf):
        return (str(leaf), None)

    assert repr(tree.map(f, x)) == repr(jax.tree.map(f, x))

    def g(path, leaf, other):
        return pytree.keystr(path) + str((leaf, other))

    def their_g(path, leaf, other):
        return ju.keystr(path) + str((leaf, other))

    assert repr(tree.map_with_path(g, x, x)) == repr(jax.tree.map_with_path(their_g, x, x))


@given(trees)
def test_walk_like_jax(x):
    leaves, treedef = pytree.tree_flatten(x)
    calls, their_calls = [], []

    def visit(log):
        return lambda children, data: log.append((children, data)) or (children, data)

    treedef.walk(visit(calls), str, leaves)
    ju.tree_structure(x).walk(visit(their_calls), str, leaves)
    assert calls == their_calls


@given(trees)
def test_one_level_like_jax(x):
    assert pytree.is_tree_node(type(x)) == ju.is_tree_node(type(x))
    assert not pytree.is_tree_node(x)  # it takes a type
    if pytree.is_tree_node(type(x)):
        children, data = pytree.flatten_one_level(x)
        their_children, their_data = ju.flatten_one_level(x)
        assert [*children] == [*their_children]
        assert data == their_data
        pairs, data = pytree.flatten_one_level_with_keys(x)
        their_pairs, their_data = ju.flatten_one_level_with_keys(x)
        assert data == their_data
        if not isinstance(x, tuple):  # JAX names every field of a named tuple like the first
            assert repr([*pairs]) == repr([*their_pairs])
    else:
        with pytest.raises(ValueError, match="can't tree-flatten type: "):
            pytree.flatten_one_level(x)
        with pytest.raises(ValueError, match="can't tree-flatten type: "):
            pytree.flatten_one_level_with_keys(x)


def test_keys_that_are_equal_but_not_the_same_come_back_as_they_were():
    structures = [pytree.tree_structure({key: 0}) for key in (1, 1.0, True)]
    assert structures[0] == structures[1] == structures[2]
    assert len(set(structures)) == 1
    assert [repr(s.unflatten([0])) for s in structures] == ["{1: 0}", "{1.0: 0}", "{True: 0}"]
    points = [pytree.tree_structure(Point(0, [0], n)) for n in (1, 1.0, True, (1,), (1.0,))]
    names = [s.unflatten([5, 5]).name for s in points]
    assert [repr(n) for n in names] == ["1", "1.0", "True", "(1,)", "(1.0,)"]
    nested = [pytree.tree_structure([({key: 0}, 0)]) for key in (1, True)]
    assert nested[0] == nested[1]
    assert repr(nested[1].unflatten([0, 0])) == "[({True: 0}, 0)]"


def test_metadata_that_cannot_be_hashed():
    a, b, c = (pytree.tree_structure(Box([1], tag)) for tag in ([1], [1], [2]))
    assert a == b
    assert hash(a) == hash(b)
    assert a != c
    assert pytree.tree_structure([Box([1], [1])]) == pytree.tree_structure([Box([2], [1])])


def test_metadata_dies_with_its_treedef():
    class Big:
        pass

    big = Big()
    gone = threading.Event()
    weakref.finalize(big, gone.set)
    treedef = pytree.tree_structure(Box([1], big))
    del big, treedef
    assert gone.is_set()


def test_structures_from_many_threads_are_one():
    found = []

    def work():
        found.extend(pytree.tree_structure({"k": [i % 7] * (i % 7)}) for i in range(300))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 7


def test_transpose():
    cases = [
        ([1, 2], {"a": 1}, [{"a": 1}, {"a": 2}]),
        ((1, 2), [1], ([1], [2])),
        ([1, 2], None, [{"a": 1}, {"a": 2}]),
        ((1, 2), (1, 2), [[1, 2], [3, 4]]),
    ]
    for outer, inner, x in cases:
        ours = [pytree.tree_structure(outer), inner and pytree.tree_structure(inner)]
        theirs = [ju.tree_structure(outer), inner and ju.tree_structure(inner)]
        assert tree.transpose(*ours, x) == jax.tree.transpose(*theirs, x)


def test_reduce_and_all():
    x = {"a": 1, "b": [2, None, (3,)]}

    def pair(a, b):
        return (a, b)

    assert tree.reduce(pair, x) == jax.tree.reduce(pair, x)
    assert tree.reduce(pair, x, 0) == jax.tree.reduce(pair, x, 0)
    assert tree.reduce(pair, x, 0, is_none) == jax.tree.reduce(pair, x, 0, is_none)
    assert tree.reduce(pair, [], 7) == 7
    for n in range(1, 9):
        assert tree.reduce_associative(pair, list(range(n))) == jax.tree.reduce_associative(
            pair, list(range(n))
        )
    assert tree.reduce_associative(pair, [], identity=3) == 3
    assert [tree.all(v) for v in ([], [1, 0], (1, {"a": 2}))] == [True, False, True]
    assert tree.all([0, (1,)], is_leaf=lambda v: isinstance(v, list))


@pytest.mark.parametrize("xs", [[1, 2], [1, [2]], [1, None], [], [[1]]])
def test_all_leaves(xs):
    assert pytree.all_leaves(xs) == ju.all_leaves(xs)
    for is_leaf in (lambda v: isinstance(v, list), is_none):
        assert pytree.all_leaves(xs, is_leaf) == ju.all_leaves(xs, is_leaf)


@pytest.mark.parametrize(
    ("prefix", "full"),
    [(1, [1, 2]), ((1, 2), ([1, 2], 3)), ([None], [None]), (None, None), ({"a": 1}, {"a": (1,)})],
)
def test_broadcast(prefix, full):
    assert tree.broadcast(prefix, full) == jax.tree.broadcast(prefix, full)
    assert tree.broadcast([None, 3], [1, [2]], is_none) == jax.tree.broadcast(
        [None, 3], [1, [2]], is_none
    )


def test_flatten_axes():
    values = ("x", {"w": "w", "b": ["b", "c"]}, None)
    treedef = pytree.tree_structure(values)
    assert pytree.flatten_axes("in_axes", treedef, 0) == [0] * 4
    assert pytree.flatten_axes("in_axes", treedef, None) == [None] * 4
    assert pytree.flatten_axes("in_axes", treedef, (0, {"w": 1, "b": None}, 7)) == [
        *(0, None, None, 1)
    ]


def test_path_functions_with_is_leaf_that_takes_the_path():
    x = {"a": [1, 2], "b": 3}

    def stop(path, _):
        return len(path) == 1

    ours = tree.leaves_with_path(x, stop, is_leaf_takes_path=True)
    theirs = jax.tree.leaves_with_path(x, stop, is_leaf_takes_path=True)
    assert [(str(p), leaf) for p, leaf in ours] == [(str(p), leaf) for p, leaf in theirs]
    mapped = tree.map_with_path(lambda p, v: v, x, is_leaf=stop, is_leaf_takes_path=True)
    assert mapped == x


def test_partial():
    f = tree_util.Partial(pow, 2, mod=5)
    assert f(3) == 3
    assert repr(f) == repr(ju.Partial(pow, 2, mod=5))
    assert tree.leaves(f) == [2, 5]
    assert str(tree.structure(f)) == str(jax.tree.structure(ju.Partial(pow, 2, mod=5)))
    assert [pytree.keystr(p) for p, _ in tree.leaves_with_path(f)] == [
        ju.keystr(p) for p, _ in jax.tree.leaves_with_path(ju.Partial(pow, 2, mod=5))
    ]
    doubled = tree.map(lambda v: v * 2, f)
    assert type(doubled) is tree_util.Partial
    assert (doubled.args, doubled.keywords) == ((4,), {"mod": 10})


def test_partial_of_partial_keeps_the_inner_arguments_out_of_the_tree():
    inner = functools.partial(pow, 2)
    assert tree.leaves(tree_util.Partial(inner, 3)) == [3]
    assert tree_util.Partial(inner, 3)() == 8
    assert tree.structure(tree_util.Partial(inner, 3)) == tree.structure(
        tree_util.Partial(inner, 4)
    )
    assert tree.leaves(tree_util.Partial(tree_util.Partial(pow, 2), 3)) == [3]


def test_class_decorators():
    @tree_util.register_pytree_with_keys_class
    class Node:
        def __init__(self, a):
            self.a = a

        def tree_flatten_with_keys(self):
            return ((tree_util.GetAttrKey("a"), self.a),), "aux"

        @classmethod
        def tree_unflatten(cls, aux, children):
            assert aux == "aux"
            return cls(*children)

    assert tree.map(lambda v: v + 1, Node(1)).a == 2
    assert tree_util.keystr(tree.leaves_with_path([Node(1)])[0][0]) == "[0].a"


def test_keys_are_values():
    for ours, theirs in [
        (tree_util.SequenceKey(1), ju.SequenceKey(1)),
        (tree_util.DictKey("a"), ju.DictKey("a")),
        (tree_util.GetAttrKey("x"), ju.GetAttrKey("x")),
        (tree_util.FlattenedIndexKey(2), ju.FlattenedIndexKey(2)),
    ]:
        assert (repr(ours), str(ours)) == (repr(theirs), str(theirs))
        assert pickle.loads(pickle.dumps(ours)) == ours
        assert hash(copy.copy(ours)) == hash(ours)
    assert tree_util.SequenceKey(1) != tree_util.FlattenedIndexKey(1)
    assert tree_util.keystr(("raw", 3)) == ju.keystr(("raw", 3))


def test_defaultdict_and_ordereddict_keep_what_they_are():
    d = tree.map(lambda v: v, defaultdict(list, b=1, a=2))
    assert d.default_factory is list
    o = tree.map(lambda v: v, OrderedDict(b=1, a=2))
    assert list(o) == ["b", "a"]


def test_named_tuple_subclasses_are_different():
    assert tree.structure(Pair(1, 2)) != tree.structure(PairSubclass(1, 2))
    assert type(tree.map(lambda v: v, PairSubclass(1, 2))) is PairSubclass


def test_static_values_are_structure():
    assert tree.leaves([Mode("train"), 1]) == [1]
    assert tree.structure(Mode("train")) != tree.structure(Mode("test"))
    assert tree.structure(Mode("train")) == tree.structure(Mode("train"))


def test_public_modules_have_every_name_of_jax():
    assert {n for n in dir(jax.tree) if not n.startswith("_")} <= set(tree.__all__)
    missing = {n for n in dir(ju) if not n.startswith("_")} - set(tree_util.__all__)
    assert missing == {"default_registry"}  # an object of JAX's C++ library
    for module in (tree, tree_util):
        assert all(hasattr(module, name) for name in module.__all__)


def test_keyed_values_survive():
    assert tree.map(lambda v: v, Keyed(1, [2])) == Keyed(1, [2])
