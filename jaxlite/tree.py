"""Functions on pytrees, as in ``jax.tree``: ``tree.map`` is ``tree_util.tree_map``."""

from jaxlite.language.pytree import static
from jaxlite.language.pytree import tree_all as all
from jaxlite.language.pytree import tree_broadcast as broadcast
from jaxlite.language.pytree import tree_flatten as flatten
from jaxlite.language.pytree import tree_flatten_with_path as flatten_with_path
from jaxlite.language.pytree import tree_leaves as leaves
from jaxlite.language.pytree import tree_leaves_with_path as leaves_with_path
from jaxlite.language.pytree import tree_map as map
from jaxlite.language.pytree import tree_map_with_path as map_with_path
from jaxlite.language.pytree import tree_reduce as reduce
from jaxlite.language.pytree import tree_reduce_associative as reduce_associative
from jaxlite.language.pytree import tree_structure as structure
from jaxlite.language.pytree import tree_transpose as transpose
from jaxlite.language.pytree import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
