"""Stage 6 of 7, emit: one kernel as one LLVM function. In: Kernel. Out: text of a function.

Loops become basic blocks, accumulators SSA values with a phi per loop; nothing lives on the stack.
How a vector loop of n elements is cut into pieces of w lanes says ``llvm_loops.py``. Next:
``emit_llvm.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from jaxlite.compiler import llvm_memory
from jaxlite.compiler.llvm_affine import Symbols
from jaxlite.compiler.llvm_cost import loop_ns
from jaxlite.compiler.llvm_expr import Binding, Evaluator
from jaxlite.compiler.llvm_loops import Facts, Span, VectorPlan, facts_of, plan_vector_loop
from jaxlite.compiler.llvm_operators import combine, identity, plain, reduce_lanes
from jaxlite.compiler.llvm_text import Block, Lanes, Module, Value, register_type
from jaxlite.compiler.llvm_threads import (
    PARAMETERS,
    call_in_threads,
    load_pointers,
    load_scalar,
    own_range,
    store_scalars,
)
from jaxlite.kernel_ir import nodes
from jaxlite.kernel_ir.nodes import Acc, Combine, DType, For, If, Kernel, Let, Set, Stmt, Store

#: Loops that take less stay in one thread; handing work over costs 2000.
_THREADS_NS: Final = 20_000.0
#: The block of scalars in the context of a part.
_SCALARS: Final = "live.scalars"


def emit_kernel(module: Module, kernel: Kernel, name: str, groups: Mapping[str, str]) -> int:
    """Append ``kernel`` to ``module`` as the function ``@name``.

    ``groups`` names, for parameters that may overlap others in memory, a group they share. Returns
    0 if the function takes the buffers, or, if it is a part that threads share, the most threads of
    use.
    """
    emitter = _KernelEmitter(module, kernel, groups, name)
    loop = kernel.body[0] if len(kernel.body) == 1 else None
    if isinstance(loop, For) and emitter.is_worth_threads(loop, facts_of(loop.body)):
        module.functions.append(emitter.part(loop, []))
        return most_threads(loop)
    module.functions.append(emitter.function())
    return 0


def most_threads(loop: For) -> int:
    """Return for how many threads ``loop`` has work."""
    return max(1, int(loop_ns(loop) / max(_THREADS_NS, 1.0))) + 1


class _KernelEmitter:
    def __init__(
        self, module: Module, kernel: Kernel, groups: Mapping[str, str], name: str
    ) -> None:
        self.kernel = kernel
        self.name = name
        self.groups = groups
        self.code = module.new_code(name)
        self.lines = module.lines_of(kernel)
        self.target = module.target
        stored = {groups.get(b, b) for b in facts_of(kernel.body).stored}
        self.stored = {
            p.name: groups.get(p.name, p.name)
            for p in kernel.params
            if groups.get(p.name, p.name) in stored
        }
        self.symbols = Symbols(self.stored)
        self.loaded = self._groups_of(facts_of(kernel.body).loaded)
        self.dtypes = {p.name: p.dtype for p in kernel.params}
        self.accs: dict[str, tuple[DType, str | None]] = {}
        self.eval = Evaluator(self.code, self.symbols)
        self.fresh_lanes = ""  # in the overlapping last piece of a sum: which lanes are new
        self.partial: set[str] = set()  # accumulators of which every lane holds a part
        self.named: dict[str, DType] = {}
        self.is_part = False  # one thread's part of a loop
        self.parts = 0

    def function(self) -> str:
        """Return the text of the whole function."""
        self.statements(self.kernel.body)
        self.code.do("ret void")
        return self._text(
            ", ".join(
                f"ptr {'' if p.name in self.groups else 'noalias '}%{p.name}"
                for p in self.kernel.params
            )
        )

    def _text(self, params: str) -> str:
        comments = "".join(f"; {line}\n" for line in self.kernel.comments)
        head = f"define internal void @{self.name}({params}) #0{self.code.suffix}"
        return f"{comments}{head} {{\n{self.code.body()}\n}}"

    def _groups_of(self, buffers: frozenset[str]) -> set[str]:
        return {self.groups.get(b, b) for b in buffers}

    # Statements

    def statements(self, body: tuple[Stmt, ...]) -> None:
        """Emit the statements of a block in order."""
        for stmt in body:
            self.code.line = self.lines.get(id(stmt), 0)
            match stmt:
                case Let():
                    self._let(stmt)
                case Store():
                    self._store(stmt)
                case Acc():
                    self._acc(stmt)
                case Combine():
                    self._combine(stmt)
                case Set():
                    self._assign(stmt.name, self._in_form_of(stmt.name, stmt.value))
                case If():
                    self._if(stmt)
                case For():
                    self._for(stmt)
                case _:
                    assert_never(stmt)
        self.code.line = 0

    def _let(self, stmt: Let) -> None:
        ev, node = self.eval, nodes.name(stmt.name, stmt.value.dtype)
        self.named[stmt.name] = stmt.value.dtype
        per_lane = ev.varies_by_lane(stmt.value)
        value = ev.vector(stmt.value) if per_lane else ev.scalar(stmt.value)
        ev.home(self.symbols.mask(stmt.value)).varying |= self.symbols.bit("name", stmt.name)
        ev.bind(node, value, per_lane)

    def _acc(self, stmt: Acc) -> None:
        ev, dtype = self.eval, stmt.init.dtype
        per_lane = ev.wide.count > 1
        value = ev.vector(stmt.init) if per_lane else ev.scalar(stmt.init)
        self.accs[stmt.name] = (dtype, stmt.combiner)
        self.named[stmt.name] = dtype
        bit = self.symbols.bit("name", stmt.name)
        ev.scope.varying |= bit
        ev.forget(bit)
        ev.bind(nodes.name(stmt.name, dtype), value, per_lane)

    def _in_form_of(self, name: str, value: nodes.Expr) -> Value:
        ev = self.eval
        return ev.vector(value) if ev.names[name].per_lane else ev.scalar(value)

    def _assign(self, name: str, value: Value) -> None:
        self.eval.names[name].value = value
        self.eval.forget(self.symbols.bit("name", name))

    def _combine(self, stmt: Combine) -> None:
        ev = self.eval
        dtype, op = self.accs[stmt.name]
        assert op is not None, f"{stmt.name} has no combiner"
        value = self._in_form_of(stmt.name, stmt.value)
        lanes = ev.wide if ev.names[stmt.name].per_lane else ev.one
        if self.fresh_lanes and stmt.name in self.partial:
            value = self._only_fresh(lanes, dtype, op, value)
        self._assign(stmt.name, combine(lanes, op, dtype, ev.names[stmt.name].value, value))

    def _only_fresh(self, lanes: Lanes, dtype: DType, op: str, value: Value) -> Value:
        """Replace lanes that an earlier piece has combined already by the identity."""
        elem, neutral = register_type(dtype), identity(lanes, op, dtype)
        if isinstance(value, tuple) and isinstance(neutral, tuple):
            re, im = (lanes.select(self.fresh_lanes, elem, v, n) for v, n in zip(value, neutral))
            return re, im
        return lanes.select(self.fresh_lanes, elem, plain(value), plain(neutral))

    def _store(self, stmt: Store) -> None:
        ev, dtype = self.eval, self.dtypes[stmt.buffer]
        base = f"%{stmt.buffer}"
        lanes = ev.wide
        if lanes.count == 1:
            value = ev.scalar(stmt.value)
            at = llvm_memory.address(ev.one, dtype, base, ev.text(stmt.at))
            llvm_memory.store(ev.one, dtype, at, value)
        else:
            self._vector_store(stmt, dtype, lanes)
        if self.groups.get(stmt.buffer, stmt.buffer) in self.loaded:
            ev.forget(self.symbols.bit("load", stmt.buffer))

    def _vector_store(self, stmt: Store, dtype: DType, lanes: Lanes) -> None:
        ev, base = self.eval, f"%{stmt.buffer}"
        value = ev.vector(stmt.value)
        step = ev.step(stmt.at)
        if step is None:
            at, bits = ev.index_vector(stmt.at)
            pointers = llvm_memory.addresses(lanes, dtype, base, at, bits)
            llvm_memory.scatter(lanes, dtype, pointers, value)
            return
        pointer = llvm_memory.address(ev.one, dtype, base, ev.text(stmt.at))
        if step == 1:
            llvm_memory.store(lanes, dtype, pointer, value)
        elif step == 0:  # the last iteration wins
            last = llvm_memory.pick_lane(lanes, dtype, value, lanes.count - 1)
            llvm_memory.store(ev.one, dtype, pointer, last)
        elif step == -1:
            last_address = llvm_memory.address(ev.one, dtype, pointer, str(1 - lanes.count))
            llvm_memory.store(lanes, dtype, last_address, llvm_memory.reverse(lanes, dtype, value))
        else:
            steps = lanes.steps("i64", step)
            pointers = llvm_memory.addresses(lanes, dtype, pointer, steps, 64)
            llvm_memory.scatter(lanes, dtype, pointers, value)

    # Branches

    def _if(self, stmt: If) -> None:
        ev, code = self.eval, self.code
        condition = ev.text(stmt.condition)
        before, after = code.block, code.new_block("endif")
        changed = self._changed(facts_of((stmt,)))
        entry_values = {n: ev.names[n].value for n in changed}
        ends: list[tuple[Block, dict[str, Value]]] = []
        labels = []
        for body, hint in ((stmt.body, "then"), (stmt.orelse, "else")):
            block = code.new_block(hint)
            labels.append(block.label)
            for n, v in entry_values.items():
                ev.names[n].value = v
            code.place(block)
            ev.enter(block, self._varying(facts_of(body))).is_branch = True
            self.statements(body)
            ends.append((code.block, {n: ev.names[n].value for n in changed}))
            code.do(f"br label %{after.label}")
            ev.leave()
        before.lines.append(f"  br i1 {condition}, label %{labels[0]}, label %{labels[1]}")
        ev.go_on_in(after)
        for n in changed:
            pairs = [(block, values[n]) for block, values in ends]
            ev.names[n].value = self._phi(n, pairs)
        ev.forget(self._varying(facts_of((stmt,))))

    def _phi(self, name: str, incoming: list[tuple[Block, Value]]) -> Value:
        """Emit a phi for accumulator ``name`` at the start of the current block."""
        return self._phi_lines(name, incoming, self._phi_names(name), self.code.block.lines)

    def _phi_names(self, name: str) -> Value:
        dtype = self.accs[name][0]
        return (self.code.fresh(), self.code.fresh()) if dtype.kind == "c" else self.code.fresh()

    def _phi_lines(
        self, name: str, incoming: list[tuple[Block, Value]], result: Value, lines: list[str]
    ) -> Value:
        ev = self.eval
        lanes = ev.wide if ev.names[name].per_lane else ev.one
        t = lanes.type(register_type(self.accs[name][0]))
        for part, register in enumerate(result if isinstance(result, tuple) else (result,)):
            pairs = ", ".join(
                f"[ {v[part] if isinstance(v, tuple) else v}, %{b.label} ]" for b, v in incoming
            )
            lines.append(f"  {register} = phi {t} {pairs}")
        return result

    # Loops

    def _changed(self, facts: Facts) -> list[str]:
        """Return the accumulators, declared before, that the code of ``facts`` changes."""
        return [n for n in facts.assigned if n in self.eval.names and n not in facts.declared]

    def _varying(self, facts: Facts) -> int:
        bits = 0
        for n in facts.assigned:
            bits |= self.symbols.bit("name", n)
        for b in facts.stored:
            bits |= self.symbols.bit("load", b)
        return bits

    def _for(self, loop: For) -> None:
        if loop.extent <= 0:
            return
        self.eval.ranges.enter(loop.index, loop.extent)
        facts = facts_of(loop.body)
        if self.is_worth_threads(loop, facts):
            self._in_threads(loop, facts)
        else:
            self._from(loop, facts, 0)

    def _plan(self, loop: For, facts: Facts, n: int) -> VectorPlan | None:
        if loop.kind != "vector" or self.eval.wide.count > 1:
            return None
        reads_stored = bool(self._groups_of(facts.stored) & self._groups_of(facts.loaded))
        combiners = {self.accs[name][1] for name in self._changed(facts)}
        return plan_vector_loop(self.target, n, facts, combiners, reads_stored, self.eval.ranges)

    def _vector_loop(self, loop: For, facts: Facts, plan: VectorPlan, start: int) -> None:
        """Emit the iterations from ``start`` on as vectors."""
        ev, stop = self.eval, loop.extent
        lanes = Lanes(self.code, plan.lanes)
        outer = {n: ev.names[n] for n in self._changed(facts)}
        ev.enter_vector_loop(loop.index, lanes)
        for n in outer:
            dtype, op = self.accs[n]
            assert op is not None, n
            ev.names[n] = Binding(identity(lanes, op, dtype), per_lane=True)
            ev.lane_mask |= self.symbols.bit("name", n)
        self.partial = set(outer)
        if plan.main:
            clamp = stop - plan.lanes if plan.clamped else None
            self.pieces(loop, facts, Span(start, start + plan.main, plan.lanes, clamp))
        rest = stop - start - plan.main
        if plan.tail == "overlap":
            fresh = ["false"] * (plan.lanes - rest) + ["true"] * rest
            self.fresh_lanes = "<" + ", ".join(f"i1 {f}" for f in fresh) + ">"
            self.pieces(loop, facts, Span(stop - plan.lanes, stop, plan.lanes))
            self.fresh_lanes = ""
        self.partial = set()
        sums = {n: ev.names[n].value for n in outer}
        ev.leave_vector_loop()
        for n, binding in outer.items():
            ev.names[n] = binding
            self._finish(n, lanes, sums[n])
        if plan.tail == "narrower":
            self._from(loop, facts, stop - rest)

    def _finish(self, name: str, lanes: Lanes, parts: Value) -> None:
        """Combine an accumulator with the parts that the lanes of a vector loop hold."""
        ev = self.eval
        dtype, op = self.accs[name]
        assert op is not None, name
        total = reduce_lanes(lanes, op, dtype, parts)
        before = ev.names[name].value
        # min(identity, x) is x; a sum from 0.0 is not, it turns -0.0 into 0.0.
        if before != identity(ev.one, op, dtype):
            total = combine(ev.one, op, dtype, before, total)
        self._assign(name, total)

    def _from(self, loop: For, facts: Facts, start: int) -> None:
        """Emit the iterations from ``start`` on."""
        plan = self._plan(loop, facts, loop.extent - start)
        if plan is None:
            self.pieces(loop, facts, Span(start, loop.extent))
        else:
            self._vector_loop(loop, facts, plan, start)

    def pieces(self, loop: For, facts: Facts, span: Span) -> None:
        """Emit the loop body for the indices of ``span``."""
        varying = self._varying(facts) | self.symbols.bit("index", loop.index)
        if span.is_single:
            self._once(loop, varying, span.start)
            return
        ev, code = self.eval, self.code
        before, header, after = code.block, code.new_block("loop"), code.new_block("done")
        changed = self._changed(facts)
        first = {n: ev.names[n].value for n in changed}
        phis = {n: self._phi_names(n) for n in changed}
        i = code.fresh()
        code.place(header)
        ev.enter(header, varying)
        ev.indices[loop.index] = i
        for n in changed:
            ev.names[n].value = phis[n]
        self.statements(loop.body)
        latch = code.block
        following, more = span.advance(code, i)
        code.do(f"br i1 {more}, label %{header.label}, label %{after.label}")
        pairs = f"[ {span.start}, %{before.label} ], [ {following}, %{latch.label} ]"
        lines = [f"  {i} = phi i64 {pairs}"]
        for n in changed:
            incoming = [(before, first[n]), (latch, ev.names[n].value)]
            self._phi_lines(n, incoming, phis[n], lines)
        header.lines[:0] = lines
        before.lines.append(f"  br label %{header.label}")
        ev.leave()
        ev.go_on_in(after)

    def _once(self, loop: For, varying: int, at: int | str) -> None:
        """Emit the body for one known index, without a loop."""
        ev = self.eval
        ev.enter(self.code.block, varying).is_once = True
        ev.indices[loop.index] = str(at)
        self.statements(loop.body)
        ev.leave()

    # Threads

    def is_worth_threads(self, loop: For, facts: Facts) -> bool:
        """Say whether ``loop`` is one that several threads should share."""
        if not self.target.threads or loop.kind == "serial" or self.is_part:
            return False
        at_top = self.eval.scope.parent is None
        return at_top and not self._changed(facts) and loop_ns(loop) > _THREADS_NS

    def _in_threads(self, loop: For, facts: Facts) -> None:
        """Emit ``loop`` as a function of its own, and its call."""
        ev = self.eval
        live = [nodes.name(n, self.named[n]) for n in sorted(facts.names) if n in ev.names]
        values = [(e.dtype, ev.scalar(e)) for e in live]
        name = f"{self.name}_part{self.parts}"
        self.parts += 1
        part = _KernelEmitter(self.code.module, self.kernel, self.groups, name)
        self.code.module.functions.append(part.part(loop, live))
        pointers = [f"%{p.name}" for p in self.kernel.params]
        if live:
            pointers.append(store_scalars(self.code, values))
        call_in_threads(self.code, name, pointers, most_threads(loop))

    def part(self, loop: For, live: list[nodes.Expr]) -> str:
        """Return the function of a thread's part of ``loop``; ``live`` are names around it."""
        self.is_part = True
        ev, code = self.eval, self.code
        names = [p.name for p in self.kernel.params] + [_SCALARS] * bool(live)
        load_pointers(code, names)
        for number, e in enumerate(live):
            ev.bind(e, load_scalar(code, f"%{_SCALARS}", number, e.dtype), per_lane=False)
        ev.ranges.enter(loop.index, loop.extent)
        facts = facts_of(loop.body)
        plan = self._plan(loop, facts, loop.extent)
        if plan is None:
            lo, hi = own_range(code, loop.extent, 1)
            ev.scope.block = code.block
            self.pieces(loop, facts, Span(lo, hi))
        else:
            self._part_of_vector_loop(loop, facts, plan)
        code.do("ret void")
        return self._text(PARAMETERS)

    def _part_of_vector_loop(self, loop: For, facts: Facts, plan: VectorPlan) -> None:
        ev, code = self.eval, self.code
        assert plan.tail != "overlap", "only sums overlap"
        lo, hi = own_range(code, plan.main, plan.lanes)
        ev.scope.block = code.block
        ev.enter_vector_loop(loop.index, Lanes(code, plan.lanes))
        clamp = loop.extent - plan.lanes if plan.clamped else None
        if clamp is not None:
            early = code.put(f"icmp ult i64 {lo}, {clamp}")
            lo = code.put(f"select i1 {early}, i64 {lo}, i64 {clamp}")
        self.pieces(loop, facts, Span(lo, hi, plan.lanes, clamp))
        ev.leave_vector_loop()
        if plan.tail == "narrower":  # the thread with the last piece does the rest
            is_last = code.put(f"icmp eq i64 {hi}, {plan.main}")
            rest, done = code.new_block("rest"), code.new_block("done")
            code.do(f"br i1 {is_last}, label %{rest.label}, label %{done.label}")
            code.place(rest)
            ev.enter(rest, self._varying(facts)).is_branch = True
            self._from(loop, facts, plan.main)
            code.do(f"br label %{done.label}")
            ev.leave()
            ev.go_on_in(done)
