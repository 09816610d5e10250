"""Containers of every kind, registered with JAX and with jaxlite, and trees made of them."""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import jax
from hypothesis import strategies as st

from jaxlite import tree_util

Pair = namedtuple("Pair", "x y")
Triple = namedtuple("Triple", "x y z")


class PairSubclass(Pair):
    pass


class TupleSubclass(tuple):
    __slots__ = ()


class DictSubclass(dict):
    pass


class Box:
    """Registered without keys; metadata is ``tag``."""

    def __init__(self, children, tag):
        self.children = tuple(children)
        self.tag = tag

    def __repr__(self):
        return f"Box({self.children}, {self.tag!r})"

    def __eq__(self, other):
        return type(other) is Box and (self.children, self.tag) == (other.children, other.tag)

    __hash__ = None


class Keyed:
    """Registered with keys; has methods for the class decorators too."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __repr__(self):
        return f"Keyed({self.a}, {self.b})"

    def __eq__(self, other):
        return type(other) is Keyed and (self.a, self.b) == (other.a, other.b)

    __hash__ = None


@dataclasses.dataclass
class Point:
    x: object
    y: object
    name: str = "p"


@dataclasses.dataclass(frozen=True)
class Mode:
    """Static: no leaves."""

    name: str


def _register(library):
    library.register_pytree_node(
        Box, lambda b: (b.children, b.tag), lambda tag, kids: Box(kids, tag)
    )
    library.register_pytree_with_keys(
        Keyed,
        lambda k: (((library.GetAttrKey("a"), k.a), (library.DictKey("b"), k.b)), None),
        lambda _, kids: Keyed(*kids),
    )
    library.register_dataclass(Point, ["x", "y"], ["name"])
    library.register_static(Mode)


_register(jax.tree_util)
_register(tree_util)

leaves = st.one_of(st.integers(0, 9), st.floats(0, 1), st.sampled_from(["s", b"b", Ellipsis]))
keys = st.sampled_from(["a", "b", "c", "long key", ""])


def _containers(inner):
    dicts = st.dictionaries(keys, inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        dicts,
        st.dictionaries(st.integers(0, 5), inner, max_size=3),
        dicts.map(lambda d: OrderedDict(reversed(d.items()))),
        dicts.map(lambda d: defaultdict(list, d)),
        st.builds(Pair, inner, inner),
        st.builds(PairSubclass, inner, inner),
        st.builds(Triple, inner, inner, inner),
        st.builds(Box, st.lists(inner, max_size=3), st.sampled_from(["t", 1, None, (1, "u")])),
        st.builds(Keyed, inner, inner),
        st.builds(Point, inner, inner, st.sampled_from(["p", "q"])),
        st.builds(Mode, st.sampled_from(["train", "test"])),
        # These are leaves.
        st.lists(inner, max_size=2).map(deque),
        st.lists(inner, max_size=2).map(TupleSubclass),
        dicts.map(DictSubclass),
    )


trees = st.recursive(st.one_of(leaves, st.none()), _containers, max_leaves=12)
