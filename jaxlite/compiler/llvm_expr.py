"""Stage 6 of 7, emit: expressions. In: hash-consed Expr. Out: LLVM values, once per scope.

Every loop body is a ``Scope``. An expression is emitted in the outermost scope in which nothing it
depends on changes, so loop-invariant code ends up before the loop, without an optimiser. Inside a
vector loop an expression that does not vary by lane stays scalar; a load whose address moves by one
element per lane becomes one vector load, and any other a gather. Next: ``llvm_kernel.py``.
"""

from __future__ import annotations

from typing import Final

from jaxlite.compiler import llvm_arith as arith
from jaxlite.compiler import llvm_memory
from jaxlite.compiler.llvm_affine import Ranges, Symbols, coefficient
from jaxlite.compiler.llvm_operators import I32, cast, constant, integer_binary, operation, plain
from jaxlite.compiler.llvm_text import Block, Code, Lanes, Value
from jaxlite.kernel_ir.nodes import I64, Expr

#: The forms of a value: lane 0, all lanes, and all lanes of an i64 index as i32.
SCALAR: Final = 0
VECTOR: Final = 1
NARROW: Final = 2


class Scope:
    """The body of a loop or branch. ``varying`` are the bits of what changes inside it."""

    __slots__ = ("block", "is_branch", "is_once", "parent", "tables", "varying")

    def __init__(self, parent: Scope | None, block: Block, varying: int) -> None:
        self.parent = parent
        self.block = block
        self.varying = varying
        self.is_branch = False  # code is not moved out of a branch: it may not be allowed to run
        self.is_once = False  # the body of a loop of one iteration: runs on in its parent's blocks
        self.tables: tuple[dict[Expr, Value], ...] = ({}, {}, {})  # by form


class Binding:
    """The current value of a Let or Acc: one per lane, or one for all."""

    __slots__ = ("per_lane", "value")

    def __init__(self, value: Value, per_lane: bool) -> None:
        self.value = value
        self.per_lane = per_lane


class Evaluator:
    """Emits expressions at the right place. ``scope`` is where the statement at hand is."""

    def __init__(self, code: Code, symbols: Symbols) -> None:
        self.code = code
        self.symbols = symbols
        self.ranges = Ranges()
        self.scope = Scope(None, code.block, 0)
        self.one = Lanes(code, 1)
        self.wide = self.one  # inside a vector loop: its lanes
        self.lane_index = ""  # the vector loop's index
        self.lane_mask = 0  # bits of what varies by lane
        self.indices: dict[str, str] = {}  # loop index -> its value in lane 0
        self.names: dict[str, Binding] = {}
        self._coefficients: dict[Expr, int | None] = {}
        self._last_lanes = 0  # number of lanes of the vector values in outer scopes

    # Where code goes

    def enter(self, block: Block, varying: int) -> Scope:
        """Open a scope whose code starts in ``block`` (already placed)."""
        self.scope = Scope(self.scope, block, varying)
        return self.scope

    def leave(self) -> None:
        """Close the scope; its parent forgets what changed inside."""
        inner, outer = self.scope, self.scope.parent
        assert outer is not None, "the root scope stays open"
        self.scope = outer
        self.code.block = outer.block
        self.forget(inner.varying)

    def go_on_in(self, block: Block) -> None:
        """Place ``block`` and continue this scope there."""
        self.code.place(block)
        scope = self.scope
        scope.block = block
        while scope.is_once and scope.parent is not None:
            scope = scope.parent
            scope.block = block

    def forget(self, bits: int) -> None:
        """Drop what was computed here from names or buffers in ``bits``."""
        mask = self.symbols.mask
        for table in self.scope.tables:
            for e in [e for e in table if mask(e) & bits]:
                del table[e]

    def enter_vector_loop(self, index: str, lanes: Lanes) -> None:
        """From here on ``index`` varies by lane."""
        if lanes.count != self._last_lanes:
            # Values spread over the lanes of an earlier loop have another width.
            self._last_lanes = lanes.count
            scope: Scope | None = self.scope
            while scope is not None:
                scope.tables[VECTOR].clear()
                scope.tables[NARROW].clear()
                scope = scope.parent
        self.wide, self.lane_index = lanes, index
        self.lane_mask = self.symbols.bit("index", index)
        self._coefficients = {}

    def leave_vector_loop(self) -> None:
        """Back to scalars."""
        self.wide, self.lane_index, self.lane_mask = self.one, "", 0

    def bind(self, name: Expr, value: Value, per_lane: bool) -> None:
        """Bind a ``name`` node here; the caller has put its bit into ``varying`` of a scope."""
        self.names[name.attrs[0]] = Binding(value, per_lane)
        if per_lane:
            self.lane_mask |= self.symbols.mask(name)
            self._coefficients[name] = None

    def home(self, bits: int) -> Scope:
        """Return the outermost scope around here in which nothing in ``bits`` changes."""
        scope = self.scope
        while scope.parent is not None and not scope.is_branch and not bits & scope.varying:
            scope = scope.parent
        return scope

    def _find(self, e: Expr, form: int) -> Value | None:
        bits = self.symbols.mask(e)
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.tables[form].get(e)
            if found is not None:
                return found
            if bits & scope.varying:
                return None
            scope = scope.parent
        return None

    # Values

    def varies_by_lane(self, e: Expr) -> bool:
        """Say whether lanes of the vector loop may see different values of ``e``."""
        return bool(self.symbols.mask(e) & self.lane_mask)

    def scalar(self, e: Expr) -> Value:
        """Return ``e`` in lane 0."""
        return self._evaluate(e, SCALAR)

    def text(self, e: Expr) -> str:
        """Return ``e``, which is not complex, in lane 0."""
        return plain(self._evaluate(e, SCALAR))

    def vector(self, e: Expr) -> Value:
        """Return ``e`` in all lanes of the vector loop."""
        return self._evaluate(e, VECTOR)

    def index_vector(self, e: Expr) -> tuple[str, int]:
        """Return the i64 ``e`` in all lanes and the bits of its elements: 32 if that is enough."""
        if self.ranges.is_narrow(e):
            return plain(self._evaluate(e, NARROW)), 32
        return plain(self._evaluate(e, VECTOR)), 64

    def step(self, at: Expr) -> int | None:
        """Return by how many elements ``at`` moves per lane, None if irregularly."""
        return coefficient(at, self.lane_index, self._coefficients)

    def _evaluate(self, e: Expr, form: int) -> Value:
        found = self._find(e, form)
        if found is not None:
            return found
        stack = [e]
        while stack:
            node = stack[-1]
            if self._find(node, form) is not None:
                stack.pop()
                continue
            missing = [a for a in self._operands(node, form) if self._find(a, form) is None]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._emit(node, form)
        result = self._find(e, form)
        assert result is not None, e
        return result

    def _operands(self, e: Expr, form: int) -> tuple[Expr, ...]:
        """Return the operands that ``_emit`` wants to find in the form of ``e`` itself."""
        if form == SCALAR:
            return e.args
        if not self.varies_by_lane(e):
            return ()
        if form == NARROW:
            return e.args if e.kind == "binary" else e.args[1:]
        # Vectors of indices may be narrow, and addresses scalar: those are asked for when needed.
        if e.kind == "load" or (e.kind in ("cast", "compare") and e.args[0].dtype == I64):
            return ()
        return e.args

    def _emit(self, e: Expr, form: int) -> None:
        """Emit ``e``, whose operands are there, at its home."""
        home = self.home(self.symbols.mask(e))
        here, self.code.block = self.code.block, home.block
        if form == SCALAR:
            value = self._value(e, SCALAR)
        elif form == NARROW:
            value = self._narrow_value(e)
        elif self.varies_by_lane(e):
            value = self._vector_value(e)
        else:
            value = llvm_memory.splat(self.wide, e.dtype, self.scalar(e))
        home.tables[form][e] = value
        self.code.block = here

    def _get(self, e: Expr, form: int) -> Value:
        found = self._find(e, form)
        assert found is not None, e
        return found

    def _value(self, e: Expr, form: int) -> Value:
        """Emit a node; its operands have the same form, SCALAR or VECTOR."""
        lanes = self.one if form == SCALAR else self.wide
        match e.kind:
            case "const":
                return constant(lanes, e)
            case "index":
                return self.indices[e.attrs[0]]
            case "name":
                binding = self.names[e.attrs[0]]
                if binding.per_lane:
                    return llvm_memory.pick_lane(self.wide, e.dtype, binding.value, 0)
                return binding.value
            case "load":
                at = plain(self._get(e.args[0], SCALAR))
                pointer = llvm_memory.address(self.one, e.dtype, f"%{e.attrs[0]}", at)
                return llvm_memory.load(self.one, e.dtype, pointer)
            case _:
                return operation(e, lanes, [self._get(a, form) for a in e.args], self.ranges)

    # Vectors

    def _vector_value(self, e: Expr) -> Value:
        lanes = self.wide
        match e.kind:
            case "index":
                start = lanes.splat(self.indices[e.attrs[0]], "i64")
                return lanes.op("add", "i64", start, lanes.steps("i64"))
            case "name":
                return self.names[e.attrs[0]].value
            case "load":
                return self._vector_load(e)
            case "cast" if e.args[0].dtype == I64:
                x, bits = self.index_vector(e.args[0])
                return cast(lanes, x, I64 if bits == 64 else I32, e.dtype)
            case "compare" if e.args[0].dtype == I64:
                return self._compare_indices(e)
            case _:
                return self._value(e, VECTOR)

    def _compare_indices(self, e: Expr) -> str:
        narrow = all(self.ranges.is_narrow(a) for a in e.args)
        form, dtype = (NARROW, I32) if narrow else (VECTOR, I64)
        x, y = (plain(self._evaluate(a, form)) for a in e.args)
        return arith.compare(self.wide, e.attrs[0], dtype, x, y)

    def _narrow_value(self, e: Expr) -> str:
        """Emit an i64 node that is known to fit as a vector of i32."""
        lanes = self.wide
        if e.kind == "index" or not self.varies_by_lane(e):
            start = self.text(e)
            if start[0] == "%":
                start = self.code.put(f"trunc i64 {start} to i32")
            start = lanes.splat(start, "i32")
            if not self.varies_by_lane(e):
                return start
            return lanes.op("add", "i32", start, lanes.steps("i32"))
        if e.kind == "binary":
            x, y = (plain(self._get(a, NARROW)) for a in e.args)
            return integer_binary(e, lanes, I32, x, y, self.ranges)
        if e.kind == "select":
            x, y = (plain(self._get(a, NARROW)) for a in e.args[1:])
            return lanes.select(plain(self.vector(e.args[0])), "i32", x, y)
        assert e.kind == "cast", e
        return arith.cast(lanes, plain(self.vector(e.args[0])), e.args[0].dtype, I32)

    def _vector_load(self, e: Expr) -> Value:
        lanes, base = self.wide, f"%{e.attrs[0]}"
        step = self.step(e.args[0])
        if step is None:
            at, bits = self.index_vector(e.args[0])
            pointers = llvm_memory.addresses(lanes, e.dtype, base, at, bits)
            return llvm_memory.gather(lanes, e.dtype, pointers)
        pointer = llvm_memory.address(self.one, e.dtype, base, self.text(e.args[0]))
        if step == 1:
            return llvm_memory.load(lanes, e.dtype, pointer)
        if step == 0:
            return llvm_memory.splat(lanes, e.dtype, llvm_memory.load(self.one, e.dtype, pointer))
        if step == -1:
            last = llvm_memory.address(self.one, e.dtype, pointer, str(1 - lanes.count))
            return llvm_memory.reverse(lanes, e.dtype, llvm_memory.load(lanes, e.dtype, last))
        pointers = llvm_memory.addresses(lanes, e.dtype, pointer, lanes.steps("i64", step), 64)
        return llvm_memory.gather(lanes, e.dtype, pointers)
