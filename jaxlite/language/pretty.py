"""Jaxprs as text, in JAX's form. In: a jaxpr or equation. Out: text.

Variables are named a, b, ... by position.

Short things stay on one line; otherwise one equation per line and one parameter per line. A jaxpr
that occurs more than once is printed once, in front, with ``let name = ... in``.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxprs_in_params,
    register_printer,
)
from jaxlite.language.source import place_of

WIDTH = 88


def letters(n: int) -> str:
    """Return name number ``n``: a .. z, ba, bb, ..."""
    text = ""
    while True:
        n, digit = divmod(n, 26)
        text = string.ascii_lowercase[digit] + text
        if n == 0:
            return text


class Context:
    """Names given so far, and jaxprs that are printed in front."""

    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.shared: dict[int, str] = {}

    def name(self, var: Var) -> str:
        """Return the name of ``var``, the next free one at its first use."""
        found = self.names.get(var)
        if found is None:
            found = letters(len(set(self.names.values())))
            self.names[var] = found
        return found


def atom_text(atom: Any, context: Context) -> str:
    """Return a variable's name or a literal with its type."""
    if isinstance(atom, Literal):
        return f"{literal_text(atom.val)}:{atom.aval.str_short()}"
    return context.name(atom)


def literal_text(value: Any) -> str:
    """Return a number as JAX prints it: the Python number nearest to it in shortest form."""
    scalar = np.asarray(value)
    kind = dtypes.kind_of(scalar.dtype)
    if kind == "f" and scalar.dtype.itemsize < 8:
        # 0.1 in float32 reads 0.1, not 0.10000000149011612.
        text = str(scalar.dtype.type(scalar))
        return text if any(c in text for c in ".en") else f"{text}.0"
    return str(scalar.item())


def binder(var: Var, context: Context, used: set[Var] | None = None) -> str:
    """Return ``name:type`` (``_:type`` for a result that nobody reads)."""
    if isinstance(var, DropVar) or (used is not None and var not in used):
        return f"_:{var.aval.str_short()}"
    return f"{context.name(var)}:{var.aval.str_short()}"


def value_text(value: Any) -> str:
    """Return a parameter that is no jaxpr."""
    if isinstance(value, np.dtype):
        return dtypes.name_of(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return value.__name__
    name = getattr(value, "__name__", None)
    if callable(value) and isinstance(name, str):
        return name
    return str(value)


def param_lines(value: Any, context: Context, indent: int) -> list[str]:
    """Return a parameter as lines (the first continues the line it stands on)."""
    if isinstance(value, ClosedJaxpr | Jaxpr):
        shared = context.shared.get(id(_open(value)))
        return [shared] if shared else jaxpr_lines(_open(value), context, indent)
    if (
        isinstance(value, tuple)
        and value
        and all(isinstance(v, ClosedJaxpr | Jaxpr) for v in value)
    ):
        lines = ["("]
        for v in value:
            first, *rest = param_lines(v, context, indent + 2)
            lines += ["  " + first, *("  " + line for line in rest)]
        return [*lines, ")"]
    return [value_text(value)]


def _open(value: ClosedJaxpr | Jaxpr) -> Jaxpr:
    return value.jaxpr if isinstance(value, ClosedJaxpr) else value


def eqn_lines(
    eqn: JaxprEqn, context: Context, indent: int, used: set[Var] | None = None
) -> list[str]:
    """Return an equation as lines, the first without indentation."""
    ins = [atom_text(a, context) for a in eqn.invars]
    params = eqn.primitive.shown_params(eqn.params)
    outs = " ".join(binder(v, context, used) for v in eqn.outvars)  # named before inner vars
    name_call_vars(eqn, context)
    parts = [(k, param_lines(v, context, indent + 2)) for k, v in sorted(params.items())]
    if "name" in params:  # a call shows its name first
        parts.sort(key=lambda part: part[0] != "name")
    head = f"{outs} = {eqn.primitive.name}" if outs else eqn.primitive.name
    tail = (" " + " ".join(ins)) if ins else ""
    if not parts:
        return [head + tail]
    inline = " ".join(f"{k}={lines[0]}" for k, lines in parts)
    if (
        all(len(lines) == 1 for _, lines in parts)
        and indent + len(head) + len(inline) + len(tail) + 2 <= WIDTH
    ):
        return [f"{head}[{inline}]{tail}"]
    result = [head + "["]
    for key, lines in parts:
        result += [f"  {key}={lines[0]}", *("  " + line for line in lines[1:])]
    return [*result, "]" + tail]


def name_call_vars(eqn: JaxprEqn, context: Context) -> None:
    """Let the body of a call use the caller's names for arguments and results, as JAX prints it."""
    if getattr(eqn.primitive, "role", "") != "call" or eqn.primitive.name != "jit":
        return
    for _, inner in jaxprs_in_params(eqn.params):
        jaxpr = _open(inner)
        if id(jaxpr) in context.shared:
            continue
        given: set[Var] = set()
        for var, atom in zip(jaxpr.invars, eqn.invars, strict=True):
            if isinstance(atom, Var) and atom not in given:  # two arguments have two names
                given.add(atom)
                context.names.setdefault(var, context.name(atom))
        for atom, out in zip(jaxpr.outvars, eqn.outvars, strict=True):
            if isinstance(atom, Var) and out in context.names:
                context.names.setdefault(atom, context.names[out])


def jaxpr_lines(
    jaxpr: Jaxpr, context: Context, indent: int = 0, source_info: bool = False
) -> list[str]:
    """Return a jaxpr as lines, the first without indentation."""
    consts = "".join(f" {binder(v, context)}" for v in jaxpr.constvars)
    args = [binder(v, context) for v in jaxpr.invars]
    used = used_vars(jaxpr)
    body = [eqn_lines(e, context, indent + 4, used) for e in jaxpr.eqns]
    outs = ", ".join(atom_text(a, context) for a in jaxpr.outvars)
    result = f"({outs},)" if len(jaxpr.outvars) == 1 else f"({outs})"
    head = f"{{ lambda{consts or ' '}; {' '.join(args)}. let"
    flat = f"{head} {'; '.join(lines[0] for lines in body)} in {result} }}"
    is_short = all(len(lines) == 1 for lines in body) and indent + len(flat) <= 80
    if is_short and not source_info:
        return [flat]
    is_long = len(head) + indent > WIDTH
    lines = fill(f"{{ lambda{consts or ' '};", args, ". let") if is_long else [head]
    rows = [
        ("    " + line, eqn) for eqn, part in zip(jaxpr.eqns, body, strict=True) for line in part
    ]
    if source_info and rows:
        width = max(len(text) for text, _ in rows)
        seen: set[int] = set()
        marked = []
        for text, eqn in rows:
            comment = "" if id(eqn) in seen else source_comment(eqn)
            seen.add(id(eqn))
            marked.append(f"{text:<{width}} {comment}".rstrip())
        lines += marked
    else:
        lines += [text for text, _ in rows]
    return [*lines, f"  in {result} }}"]


def source_comment(eqn: JaxprEqn) -> str:
    """Return ``# file:line (function)`` of the user's line."""
    if eqn.source is None:
        return ""
    return f"# {place_of(eqn.source.file, eqn.source.line)} ({eqn.source.function})"


def fill(start: str, words: list[str], end: str) -> list[str]:
    """Break a long list of binders into lines."""
    lines, current = [], start
    for word in words:
        if len(current) + 1 + len(word) > WIDTH:
            lines.append(current)
            current = "   "
        current += f" {word}"
    return [*lines, current + end]


def used_vars(jaxpr: Jaxpr) -> set[Var]:
    """Return the variables that an equation or the result reads."""
    used = {a for e in jaxpr.eqns for a in e.invars if isinstance(a, Var)}
    used.update(a for a in jaxpr.outvars if isinstance(a, Var))
    return used


def shared_jaxprs(jaxpr: Jaxpr) -> list[tuple[str, Jaxpr]]:
    """Return names and jaxprs that occur more than once inside ``jaxpr``, inner ones first."""
    counts: dict[int, int] = {}
    found: list[tuple[str, Jaxpr]] = []

    def visit(j: Jaxpr) -> None:
        for eqn in j.eqns:
            for _, inner in jaxprs_in_params(eqn.params):
                body = _open(inner)
                counts[id(body)] = counts.get(id(body), 0) + 1
                if counts[id(body)] == 1:
                    visit(body)
                    found.append((str(eqn.params.get("name", "jaxpr")), body))

    visit(jaxpr)
    return [(name, body) for name, body in found if counts[id(body)] > 1]


def print_jaxpr(jaxpr: Jaxpr, source_info: bool = False, **_: Any) -> str:
    """Return the text of a whole jaxpr."""
    context = Context()
    lines: list[str] = []
    taken: set[str] = set()
    for name, body in shared_jaxprs(jaxpr):
        label, k = name, 1
        while label in taken:
            label, k = f"{name}{k}", k + 1
        taken.add(label)
        first, *rest = jaxpr_lines(body, context)
        if rest:
            rest[-1] += " in"
        else:
            first += " in"
        lines += [f"let {label} = {first}", *rest]
        context.shared[id(body)] = label
    return "\n".join([*lines, *jaxpr_lines(jaxpr, context, 0, source_info)])


def print_eqn(eqn: JaxprEqn) -> str:
    """Return the text of one equation with names of its own."""
    return "\n".join(eqn_lines(eqn, Context(), 0))


register_printer("jaxpr", print_jaxpr)
register_printer("eqn", print_eqn)
