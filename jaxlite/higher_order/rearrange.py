"""Small edits of closed jaxprs that rules of control flow need. In: a jaxpr.

Out: another with new order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.language.jaxpr import ClosedJaxpr


def reorder(
    closed: ClosedJaxpr,
    in_order: Sequence[int] | None = None,
    out_order: Sequence[int] | None = None,
) -> ClosedJaxpr:
    """Return ``closed`` with arguments and results permuted.

    New position ``i`` holds old ``order[i]``.
    """
    jaxpr = closed.jaxpr
    changes: dict[str, Any] = {}
    if in_order is not None:
        changes["invars"] = [jaxpr.invars[i] for i in in_order]
    if out_order is not None:
        changes["outvars"] = [jaxpr.outvars[i] for i in out_order]
    return ClosedJaxpr(jaxpr.replace(**changes), closed.consts)


def split(values: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """Cut ``values`` into parts of ``sizes`` and the rest."""
    parts, start = [], 0
    for n in sizes:
        parts.append(list(values[start : start + n]))
        start += n
    parts.append(list(values[start:]))
    return parts
