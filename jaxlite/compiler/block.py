"""What lowering one jaxpr needs to know. In: a plan, places of its inputs. Out: steps and buffers.

A ``Builder`` belongs to a program: its buffers, its distinct kernels, its constants. A ``Block``
belongs to one jaxpr in it (the main one or the body of a loop): where each var lies and the steps
made so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.compiler.lower_nest import Draft, Temp
from jaxlite.compiler.plan import FusionPlan, Group, eqn_text, var_names
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import Buffer, BufferKind, Copy, Launch, Step, View
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import Atom, DropVar, JaxprEqn, Literal, Var


class Builder:
    """The program being made. ``lower_plan`` lowers a nested plan (installed by ``lower``)."""

    def __init__(self, lower_plan: Callable[..., list[Step]]) -> None:
        self.buffers: dict[str, Buffer] = {}
        self.prologue: list[Step] = []
        self.kernels: dict[Any, ir.Kernel] = {}
        self.taken: dict[str, int] = {}
        self.literals: dict[Any, View] = {}
        self.inner_consts: list[Any] = []
        self.lower_plan = lower_plan
        self.n_counters = 0

    def new_buffer(self, name: str, dtype: Any, shape: Sequence[int], kind: BufferKind) -> View:
        """Add a buffer; the name gets a number if it is taken."""
        name = self.unique(name)
        storage = dtypes.storage_dtype(dtype)
        self.buffers[name] = Buffer(name, storage, tuple(shape), kind)
        return View(name, tuple(shape))

    def unique(self, name: str, namespace: str = "b") -> str:
        """Return ``name``, with a number if it is taken already."""
        key = f"{namespace} {name}"
        n = self.taken.get(key, 0) + 1
        self.taken[key] = n
        return name if n == 1 else self.unique(f"{name}_{n}", namespace)

    def new_counter(self) -> str:
        """Return a fresh name of a step counter."""
        self.n_counters += 1
        return f"n{self.n_counters - 1}"

    def const_view(self, value: Any, name: str) -> View:
        """Return the hidden input that holds a constant of a nested jaxpr."""
        self.inner_consts.append(value)
        aval = value.aval
        return self.new_buffer(f"const_{name}", aval.dtype, aval.shape, "input")

    def literal_view(self, atom: Literal) -> View:
        """Return memory that holds a literal (written once, when the program starts)."""
        dtype = dtypes.storage_dtype(atom.aval.dtype)
        value = ir.const(atom.val, dtype)
        view = self.literals.get(value)
        if view is None:
            view = self.new_buffer("literal", dtype, (), "temp")
            self.prologue.append(Launch(self.fill_kernel(value, 1), (view,)))
            self.literals[value] = view
        return view

    def fill_kernel(self, value: ir.Expr, size: int) -> ir.Kernel:
        """Return a kernel that stores one value everywhere."""
        i = ir.index("i")
        param = ir.Param("out0", value.dtype, size, is_output=True)
        if size == 1:
            body: tuple[ir.Stmt, ...] = (ir.Store("out0", ir.i64(0), value),)
        else:
            body = (ir.For("i", size, (ir.Store("out0", i, value),), "vector"),)
        return self.kernel("fill", (param,), body, ())

    def kernel(
        self,
        name: str,
        params: tuple[ir.Param, ...],
        body: tuple[ir.Stmt, ...],
        comments: tuple[str, ...],
    ) -> ir.Kernel:
        """Return a kernel; equal code is one kernel, however many equations it comes from."""
        key = (params, body)
        found = self.kernels.get(key)
        if found is None:
            found = self.kernels[key] = ir.Kernel(self.unique(name, "k"), params, body, comments)
        return found


class Block:
    """One jaxpr being lowered: ``views`` says where each var lies."""

    def __init__(self, builder: Builder, plan: FusionPlan, prefix: str = "") -> None:
        self.builder = builder
        self.plan = plan
        self.names = var_names(plan.closed.jaxpr)
        self.prefix = prefix
        self.views: dict[Var, View] = {}
        self.steps: list[Step] = []

    def root(self, var: Var) -> Var:
        """Return the value whose memory ``var`` shares."""
        aliases = self.plan.aliases
        while var in aliases:
            var = aliases[var]
        return var

    def view(self, atom: Atom) -> View:
        """Return where a value lies."""
        if isinstance(atom, Literal):
            return self.builder.literal_view(atom)
        view = self.views.get(atom)
        if view is None:
            whole = self.views[self.root(atom)]
            view = self.views[atom] = View(
                whole.buffer, atom.aval.shape, whole.offset, whole.counters
            )
        return view

    def place(self, var: Var) -> View:
        """Return where ``var`` is to be stored: its output, or a new temp."""
        view = self.views.get(var)
        if view is None:
            name = self.prefix + self.names.get(var, "unused")
            view = self.builder.new_buffer(name, var.aval.dtype, var.aval.shape, "temp")
            self.views[var] = view
        return view

    def temp(self, name: str, dtype: Any, shape: Sequence[int]) -> View:
        """Return new memory of the program's own."""
        return self.builder.new_buffer(self.prefix + name, dtype, shape, "temp")

    def launch(self, group: Group, draft: Draft) -> None:
        """Append the launch of a drafted kernel."""
        args: list[View] = []
        for param, what in draft.params:
            if isinstance(what, Temp):
                args.append(self.temp(param.name, what.dtype, (what.size,)))
            elif param.is_output:
                args.append(self.place(what))
            else:
                args.append(self.view(what))
        params = tuple([p for p, _ in draft.params])
        name = kernel_name(group.name)
        kernel = self.builder.kernel(name, params, tuple(draft.body), self.comments(group.eqns))
        self.steps.append(Launch(kernel, tuple(args)))

    def comments(self, eqns: Sequence[JaxprEqn]) -> tuple[str, ...]:
        """Return the equations as text."""
        return tuple([eqn_text(e, self.names) for e in eqns])

    def copy(self, source: View, target: View) -> None:
        """Append a copy, unless it is the same place."""
        if source != target:
            self.steps.append(Copy(source, target))

    def out_views(self, eqn: JaxprEqn) -> list[View]:
        """Return where the results of an equation go; unused ones get memory too."""
        return [
            self.temp("unused", v.aval.dtype, v.aval.shape)
            if isinstance(v, DropVar)
            else self.place(v)
            for v in eqn.outvars
        ]


def kernel_name(text: str) -> str:
    """Return ``text`` as an identifier."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in text)


def consts_of(value: Any) -> np.ndarray[Any, Any]:
    """Return the array of a constant."""
    return np.asarray(getattr(value, "_data", value))
