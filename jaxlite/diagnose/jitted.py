"""The jitted functions of a cell. In: its source tree and the user's names. Out: ``Body``.

A body is what ``jit`` will trace: a function, a lambda, or a function that those call. Names of
enclosing functions hide globals of the same name, as in Python.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jaxlite.diagnose.captured import plain_function
from jaxlite.diagnose.cell_history import base_name
from jaxlite.diagnose.cell_names import names_of
from jaxlite.language.source import is_user_file

__all__ = ["ABSENT", "Body", "Names", "find_jitted", "helpers_of", "silenced_lines"]

ABSENT: Any = object()
_SILENCE = re.compile(r"#\s*jaxlite:\s*ok\s*((?:JL\d+[ ,]*)*)")
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Names:
    """What the names of a cell stand for, as far as can be known before it runs."""

    namespace: Mapping[str, Any]
    bound: Mapping[str, int] = field(default_factory=dict)
    literals: Mapping[str, Any] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    has_run: bool = False

    def value(self, name: str) -> Any:
        """Return the value of a global, ``ABSENT`` if nobody can know."""
        if name in self.bound and not self.has_run:
            return self.literals.get(name, ABSENT)
        return self.namespace.get(name, ABSENT)

    def path(self, e: ast.expr) -> str | None:
        """Return the dotted path of ``e`` (``numpy.random.rand``), None if it is no such thing."""
        parts: list[str] = []
        while isinstance(e, ast.Attribute):
            parts.append(e.attr)
            e = e.value
        if not isinstance(e, ast.Name):
            return None
        root = self.imports.get(e.id)
        if root is None:
            value = self.value(e.id)
            root = _path_of_value(value) if value is not ABSENT else None
        return ".".join([root if root is not None else e.id, *reversed(parts)])


def _path_of_value(value: Any) -> str | None:
    if isinstance(value, types.ModuleType):
        return value.__name__
    owner = getattr(value, "__self__", None)
    if isinstance(value, types.BuiltinMethodType | types.MethodType) and owner is not None:
        module = owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__module__
        return f"{module}.{value.__name__}"
    if isinstance(value, types.FunctionType | type):
        return f"{value.__module__}.{value.__name__}"
    return None


@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """Code that is traced.

    Attributes:
      name: the function's name, ``lambda`` for one without.
      node: its syntax.
      parameters: names of the parameters.
      static: parameters that are Python constants.
      names: what its globals stand for.
      outer: names of enclosing functions (they are no globals).
      loops: loop variables of the loops around it.
      silenced: line -> codes that a comment there silences.
      line: its first line.
      via: the helper that was called to get here, if it is not the jitted function itself.
      owner: for a method of a global object, that object's name.
    """

    name: str
    node: FunctionNode | ast.Module
    parameters: tuple[str, ...]
    static: frozenset[str]
    names: Names
    outer: frozenset[str] = frozenset()
    loops: frozenset[str] = frozenset()
    silenced: Mapping[int, frozenset[str]] = field(default_factory=dict)
    line: int = 0
    via: str = ""
    owner: str = ""
    functions: Mapping[str, FunctionNode] = field(default_factory=dict)

    @property
    def statements(self) -> list[ast.stmt]:
        """The body as statements."""
        if isinstance(self.node, ast.Lambda):
            return [ast.Expr(self.node.body)]
        return self.node.body

    def free_names(self) -> dict[str, ast.Name]:
        """Return the names that the body reads from outside, with the place of the first read."""
        found = names_of(ast.Module(self.statements, []))
        own = {*self.parameters, *self.local_names()}
        return {n: node for n, node in found.reads.items() if n not in own}

    def local_names(self) -> set[str]:
        """Return the names that are local: assigned, not only an item of them, and not global."""
        shared = {n for s in ast.walk(self.node) if isinstance(s, ast.Global) for n in s.names}
        stored = {
            n.id
            for n in ast.walk(self.node)
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        binds = names_of(ast.Module(self.statements, [])).binds
        items = {
            base_name(n)
            for n in ast.walk(self.node)
            if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)
        }
        return {n for n in binds if n in stored or n not in items} - shared

    def is_silenced(self, code: str, line: int) -> bool:
        """Say whether a comment on ``line``, the first line or the one above silences ``code``."""
        lines = {line, *range(self.line - 1, getattr(self.node, "lineno", self.line) + 1)}
        return any(self.silenced.get(n, frozenset()) & {code, "*"} for n in lines)


def silenced_lines(source: str) -> dict[int, frozenset[str]]:
    """Return line -> codes for ``# jaxlite: ok JL101`` comments (no code: all)."""
    found = {}
    for number, line in enumerate(source.splitlines(), 1):
        match = _SILENCE.search(line)
        if match:
            found[number] = frozenset(re.findall(r"JL\d+", match.group(1))) or frozenset("*")
    return found


def names_in(tree: ast.Module, namespace: Mapping[str, Any], *, has_run: bool = False) -> Names:
    """Return what the names of a cell stand for: its own literals and imports, then globals."""
    imports: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                imports[a.asname or a.name.split(".")[0]] = (
                    a.name if a.asname else a.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imports.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return Names(namespace, names_of(tree).binds, _literal_values(tree), imports, has_run)


def _literal_values(tree: ast.Module) -> dict[str, Any]:
    """Return the values of names that the cell assigns a literal to: ``g = 0.``."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            try:
                value = ast.literal_eval(node.value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            found.update({t.id: value for t in node.targets if isinstance(t, ast.Name)})
    return found


def find_jitted(tree: ast.Module, source: str, names: Names) -> list[Body]:
    """Return the functions that the cell jits, in the order of the source."""
    finder = _Finder(source, names)
    finder.visit(tree)
    return finder.found


class _Finder(ast.NodeVisitor):
    def __init__(self, source: str, names: Names) -> None:
        self.names = names
        self.silenced = silenced_lines(source)
        self.found: list[Body] = []
        self.seen: set[int] = set()
        self.outer: tuple[frozenset[str], ...] = ()
        self.loops: frozenset[str] = frozenset()
        self.functions: list[dict[str, tuple[FunctionNode, _Finder]]] = [{}]
        self.instant: set[int] = set()
        self.owner: ast.ClassDef | None = None

    def snapshot(self) -> _Finder:
        """Return the surroundings of a function, for a ``jit(f)`` that comes later."""
        copy = _Finder("", self.names)
        copy.outer, copy.loops, copy.functions = self.outer, self.loops, list(self.functions)
        return copy

    # --- where functions are defined ---

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions[-1][node.name] = (node, self.snapshot())
        for d in node.decorator_list:
            if is_jit(d, self.names):
                self.add(node.name, node, _static_names(d, node.args), self)
        self.inside(node, set(names_of(ast.Module(node.body, [])).binds))

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.inside(node, set())

    def inside(self, node: FunctionNode, binds: set[str]) -> None:
        before = self.outer, self.loops
        self.outer = (*self.outer, frozenset({*parameters_of(node.args), *binds}))
        self.loops = self.loops - self.outer[-1]
        self.functions.append({})
        self.generic_visit(node)
        self.functions.pop()
        self.outer, self.loops = before

    def visit_For(self, node: ast.For) -> None:
        before = self.loops
        self.visit(node.iter)
        self.loops = self.loops | _stored_names(node.target)
        for child in [*node.body, *node.orelse]:
            self.visit(child)
        self.loops = before

    def visit_ListComp(self, node: Any) -> None:
        before = self.loops
        self.loops = self.loops.union(*[_stored_names(g.target) for g in node.generators])
        self.generic_visit(node)
        self.loops = before

    visit_DictComp = visit_SetComp = visit_GeneratorExp = visit_ListComp

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        if isinstance(node.value, ast.Lambda):
            for t in node.targets:
                if isinstance(t, ast.Name):
                    self.functions[-1][t.id] = (node.value, self.snapshot())

    # --- where they are jitted ---

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Call):
            self.instant.add(id(node.func))  # jit(f)(x): traced where it stands
        if is_jit(node.func, self.names) and node.args:
            self.add_target(node)
        self.generic_visit(node)

    def add_target(self, call: ast.Call) -> None:
        target = call.args[0]
        while isinstance(target, ast.Call) and target.args:  # jit(grad(f)), jit(partial(f, 1))
            target = target.args[0]
        place: _Finder = self
        if id(call) in self.instant:
            place = self.snapshot()
            place.loops = frozenset()
        if isinstance(target, ast.Lambda):
            self.add("lambda", target, _static_names(call, target.args), place)
        elif isinstance(target, ast.Name):
            for scope in reversed(self.functions):
                if target.id in scope:
                    node, where = scope[target.id]
                    self.add(target.id, node, _static_names(call, node.args), where)
                    return
            fun = plain_function(self.names.value(target.id))
            if fun is not None and is_user_file(fun.__code__.co_filename):
                body = body_of(fun)
                if body is not None and id(fun) not in self.seen:
                    self.seen.add(id(fun))
                    self.found.append(replace(body, static=_static_names(call, _args(body))))

    def add(self, name: str, node: FunctionNode, static: frozenset[str], place: _Finder) -> None:
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        outer = frozenset().union(*place.outer) if place.outer else frozenset()
        nearby = {n: f for scope in place.functions for n, (f, _) in scope.items()}
        self.found.append(
            Body(
                name=name,
                node=node,
                parameters=tuple(parameters_of(node.args)),
                static=static,
                names=self.names,
                outer=outer,
                loops=place.loops,
                silenced=self.silenced,
                line=first_line(node),
                functions=nearby,
            )
        )


def first_line(node: FunctionNode) -> int:
    """Return the line on which a function starts, decorators included."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *[d.lineno for d in decorators]])


def _args(body: Body) -> ast.arguments:
    assert not isinstance(body.node, ast.Module)
    return body.node.args


def _stored_names(target: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def is_jit(e: ast.expr, names: Names) -> bool:
    """Say whether ``e`` is ``jit``, ``jax.jit``, ``jit(static_argnums=0)``, ``partial(jit, ..)``.

    ``numba.jit`` and ``torch.jit`` are others.
    """
    if isinstance(e, ast.Call):
        called = names.path(e.func) or ""
        if called.rpartition(".")[2] == "partial":
            return bool(e.args) and is_jit(e.args[0], names)
        return is_jit(e.func, names) and not e.args
    path = names.path(e)
    if path is None:
        return False
    base = base_name(e) or ""
    is_known = base in names.imports or names.value(base) is not ABSENT
    root = path.partition(".")[0]
    return path.rpartition(".")[2] == "jit" and (not is_known or root in ("jax", "jaxlite"))


def _static_names(call: ast.expr, args: ast.arguments) -> frozenset[str]:
    """Return the parameters that ``static_argnames`` and ``static_argnums`` of a jit name."""
    found: set[str] = set()
    positional = [a.arg for a in (*args.posonlyargs, *args.args)]
    for keyword in call.keywords if isinstance(call, ast.Call) else ():
        try:
            value = ast.literal_eval(keyword.value)
        except (ValueError, TypeError):
            continue
        values = value if isinstance(value, tuple | list) else (value,)
        if keyword.arg == "static_argnames":
            found.update(v for v in values if isinstance(v, str))
        elif keyword.arg == "static_argnums":
            found.update(
                positional[v]
                for v in values
                if isinstance(v, int) and -len(positional) <= v < len(positional)
            )
    return frozenset(found)


def parameters_of(args: ast.arguments) -> list[str]:
    """Return the names of all parameters."""
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return [a.arg for a in every] + [a.arg for a in (args.vararg, args.kwarg) if a is not None]


# --- functions that exist already ---


@functools.lru_cache(maxsize=512)
def _parsed(code: types.CodeType) -> tuple[FunctionNode, str] | None:
    """Return syntax and source of a function; None if it has none (``exec``, REPL)."""
    try:
        source = textwrap.dedent(inspect.getsource(code))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError, IndexError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            return node, source
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>":
            return node, source
    return None


def body_of(fun: types.FunctionType, via: str = "", owner: str = "") -> Body | None:
    """Return the body of a function that exists, None if its source cannot be found."""
    parsed = _parsed(fun.__code__)
    if parsed is None:
        return None
    node, source = parsed
    closure = dict(zip(fun.__code__.co_freevars, fun.__closure__ or ()))
    return Body(
        name="lambda" if fun.__name__ == "<lambda>" else fun.__name__,
        node=node,
        parameters=tuple(parameters_of(node.args)),
        static=frozenset(),
        names=Names(fun.__globals__, has_run=True),
        outer=frozenset(closure),
        silenced=silenced_lines(source),
        line=first_line(node),
        via=via,
        owner=owner,
    )


def helpers_of(body: Body) -> Iterator[Body]:
    """Yield the bodies of all user functions that ``body`` calls, directly or not."""
    seen: set[Any] = {body.node}
    queue = [body]
    while queue:
        here = queue.pop(0)
        for found in _called(here):
            if found.node not in seen:
                seen.add(found.node)
                queue.append(found)
                yield found


def _called(body: Body) -> Iterator[Body]:
    """Yield the bodies of the user functions whose names ``body`` reads."""
    for name in body.free_names():
        if name in body.functions:
            node = body.functions[name]
            yield replace(
                body, node=node, parameters=tuple(parameters_of(node.args)), static=frozenset(),
                loops=frozenset(), line=first_line(node), via=name, name=name, owner="",
            )  # fmt: skip
            continue
        if name in body.outer:
            continue
        value = body.names.value(name)
        fun = None if value is ABSENT or isinstance(value, type) else plain_function(value)
        if fun is not None and is_user_file(fun.__code__.co_filename):
            found = body_of(fun, via=name)
            if found is not None:
                yield found
    yield from _methods(body)


def _methods(body: Body) -> Iterator[Body]:
    """Yield the methods of global objects that ``body`` calls: ``model.predict(x)``."""
    own = {*body.parameters, *body.outer}
    for node in ast.walk(body.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                pass
            case ast.Call(func=ast.Name(id=name)):
                method = "__call__"
            case _:
                continue
        value = ABSENT if name in own else body.names.value(name)
        if value is ABSENT or isinstance(value, types.ModuleType | types.FunctionType | type):
            continue
        fun = getattr(type(value), method, None)
        if isinstance(fun, types.FunctionType) and is_user_file(fun.__code__.co_filename):
            shown = name if method == "__call__" else f"{name}.{method}"
            found = body_of(fun, via=shown, owner=name)
            if found is not None:
                yield found
