"""What would make a recompile go away. In: explained traces. Out: fixes, ranked by saved time.

A fix with edits is a diff that can be applied as it stands; where no edit is certain to be right,
it is advice in words.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.diagnose.causes import Explanation
from jaxlite.diagnose.hoist import hoist, with_parameters
from jaxlite.diagnose.misses import Miss, Site
from jaxlite.diagnose.padding import bucket
from jaxlite.diagnose.source_edits import Edit, Source, diff_text
from jaxlite.diagnose.static_fixes import static_fix

__all__ = ["Fix", "axis_values", "fixes_for"]


@dataclass(frozen=True)
class Fix:
    """One thing to change.

    ``saves_ms`` is what it would have saved so far; ``new_source`` the file with the edit made
    ('' for advice), ``diff`` the edit as a small unified diff.
    """

    cause: str
    title: str
    saves_ms: float
    file: str = ""
    new_source: str = ""
    diff: str = ""

    def __str__(self) -> str:
        head = f"{self.title}  (saves {self.saves_ms:.0f} ms)"
        lines = [
            line
            for line in self.diff.splitlines()[2:]  # the two file names are in the report's head
            if not line.startswith("@@")
        ]
        return "\n".join([head, *(f"    {line[0]} {line[1:]}" for line in lines)])


def fixes_for(site: Site, explained: Sequence[Explanation]) -> tuple[Fix, ...]:
    """Return the fixes for one function, the most valuable first."""
    makers: dict[str, Callable[[Site, list[Explanation]], Iterable[Any]]] = {
        "S": shape_fixes,
        "D": type_fixes,
        "W": type_fixes,
        "T": tree_fixes,
        "V": static_fix,
        "F": function_fixes,
        "G": global_fixes,
        "C": config_fixes,
        "X": evicted_fixes,
    }
    found: list[Fix] = []
    for letter, make in makers.items():
        mine = [e for e in explained if letter in e.letters]
        if not mine or (letter == "W" and any("D" in e.letters for e in mine)):
            continue
        saved = sum(1e3 * e.miss.seconds / len(e.letters) for e in mine)
        for title, source, edits in make(site, list(explained)):
            if source is None or not edits:
                found.append(Fix(letter, title, saved))
                continue
            new = source.apply(edits)
            diff = diff_text(source.text, new, source.file)
            found.append(Fix(letter, title, saved, source.file, new, diff))
    return tuple(sorted(found, key=lambda f: -f.saves_ms))


# --- S ---


def axis_values(misses: Sequence[Miss]) -> dict[str, dict[int, list[int]]]:
    """Return argument -> axis -> lengths, in order of first use, of every argument of one rank."""
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for m in misses:
        for name, aval in zip(m.arg_names, m.key.avals):
            shapes.setdefault(name, []).append(aval.shape)
    return {
        name: {axis: list(dict.fromkeys(s[axis] for s in found)) for axis in range(len(found[0]))}
        for name, found in shapes.items()
        if len({len(s) for s in found}) == 1
    }


def shape_fixes(site: Site, explained: list[Explanation]) -> Iterable[Any]:
    """Pad the axis that varies."""
    paths = {d.path for e in explained for d in e.causes if d.cause == "S"}
    varying = {}
    for name, axes in axis_values([e.miss for e in explained]).items():
        changed = [axis for axis, values in axes.items() if len(values) > 1]
        if name in paths and len(changed) == 1:
            varying[name] = (changed[0], axes[changed[0]])
    if len(varying) < len(paths):
        yield "give the arguments equal shapes: more than one axis (or the rank) varies", None, []
        return
    axis, values = next(iter(varying.values()))
    buckets = {bucket(v) for v in values}
    to_max = len(buckets) == len(values) or (len(values) == 2 and values[0] > values[1])
    target = str(max(values)) if to_max else ""
    how = f"pad to {target}" if to_max else "pad to the next power of two (bucket)"
    title = f"{how} along axis {axis}, and mask what the padding adds"
    if any(v != (axis, values) for v in varying.values()):
        yield title, None, []
        return
    yield (
        title,
        *_call_edits(
            explained,
            lambda s, call: _pad_edits(s, call, explained[-1].miss, varying, axis, target),
        ),
    )


def _pad_edits(
    source: Source, call: ast.Call, miss: Miss, varying: dict[str, Any], axis: int, to: str
) -> list[Edit]:
    nodes = {n: _argument(call, miss, n) for n in varying}
    statement = source.statement(call)
    if None in nodes.values() or statement is None:
        return []
    texts = {n: source.segment(node) for n, node in nodes.items()}
    jax = source.alias("jaxlite") or "jaxlite"
    first = next(iter(texts.values()))
    size = f"len({first})" if axis == 0 else f"{first}.shape[{axis}]"
    where = f"to={to or f'{jax}.bucket({size})'}" + (f", axis={axis}" if axis else "")
    edits: list[Edit] = []
    if source.alias("jaxlite") is None:
        edits.append(source.import_edit("import jaxlite"))
    simple = isinstance(statement, ast.Assign | ast.Expr | ast.Return | ast.AugAssign)
    inside = any(
        isinstance(n, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp | ast.Lambda)
        for n in source.around(call)
    )
    alone = source.line_starts[statement.lineno - 1] + len(source.indent(statement))
    if simple and not inside and alone == source.span(statement)[0]:
        names = [f"{n}_padded" for n in varying]
        at, indent = source.line_span(statement)[0], source.indent(statement)
        lines = ""
        if not to and not isinstance(next(iter(nodes.values())), ast.Name | ast.Attribute):
            lines = f"{indent}{names[0]} = {first}\n"  # evaluate it once, not for its length too
            where = where.replace(first, names[0])
            texts[next(iter(texts))] = names[0]
        targets, values = ", ".join(names), ", ".join(texts.values())
        lines += f"{indent}{targets}, mask = {jax}.pad_batch({values}, {where})\n"
        edits.append((at, at, lines))
        return edits + [(*source.span(nodes[n]), new) for n, new in zip(varying, names)]
    return edits + [
        (*source.span(node), f"{jax}.pad_batch({texts[n]}, {where})[0]")
        for n, node in nodes.items()
    ]


def _argument(call: ast.Call, miss: Miss, name: str) -> Any:
    """Return the expression that is passed for parameter ``name`` (None if it cannot be told)."""
    if not miss.is_direct or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if name in miss.parameters and miss.parameters.index(name) < len(call.args):
        return call.args[miss.parameters.index(name)]
    return None


def _call_edits(
    explained: Iterable[Explanation], make: Callable[[Source, ast.Call], list[Edit]]
) -> tuple[Source | None, list[Edit]]:
    """Return the edits at every line that called, if all are in one file and all can be made."""
    source: Source | None = None
    calls: dict[int, ast.Call] = {}
    for e in explained:
        line = e.miss.caller
        here = Source.of(line.file) if line is not None else None
        call = here.call_at(line) if here is not None else None
        if call is None or (source is not None and here is not source):
            return None, []
        source, calls[id(call)] = here, call
    edits: list[Edit] = []
    for call in calls.values():
        assert source is not None
        new = make(source, call)
        if not new:
            return None, []
        edits += new
    return source, edits


# --- D, W ---


def type_fixes(site: Site, explained: list[Explanation]) -> Iterable[Any]:
    """Convert where the odd type is passed."""
    paths = dict.fromkeys(d.path for e in explained for d in e.causes if d.cause in "DW")
    for path in paths:
        avals = [dict(zip(e.miss.arg_names, e.miss.key.avals)).get(path) for e in explained]
        present = [a for a in avals if a is not None]
        strong = [a for a in present if not a.weak_type]
        target = next(
            (a for a in strong or present if str(a.dtype).startswith(("float", "bf", "complex"))),
            (strong or present)[0],
        )
        is_scalar = all(a.ndim == 0 for a in present)
        odd = [
            e
            for e, a in zip(explained, avals)
            if a is not None
            and (a.dtype != target.dtype or (bool(strong) and a.weak_type != target.weak_type))
        ]
        convert = functools.partial(
            _convert_edits,
            miss=odd[0].miss,
            path=path,
            dtype=target.dtype,
            strong=bool(strong),
            scalar=is_scalar,
        )
        yield f"pass {path} as {target.dtype} every time", *_call_edits(odd, convert)


def _convert_edits(
    source: Source, call: ast.Call, miss: Miss, path: str, dtype: Any, strong: bool, scalar: bool
) -> list[Edit]:
    node = _argument(call, miss, path)
    if node is None or not isinstance(dtype, np.dtype):
        return []
    text = source.segment(node)
    if not strong:
        kind = {"f": "float", "c": "complex"}.get(dtype.kind, "int")
        return [(*source.span(node), f"{kind}({text})")]
    if not scalar:
        if not isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
            text = f"({text})"
        return [(*source.span(node), f'{text}.astype("{dtype}")')]
    module = "numpy" if dtype.kind in "fciu" and dtype.itemsize > 0 and dtype.isbuiltin == 1 else ""
    if not module:
        return []
    alias = source.alias(module)
    edits: list[Edit] = []
    if alias is None:
        alias = "np"
        edits.append(source.import_edit("import numpy as np"))
    return [*edits, (*source.span(node), f"{alias}.{dtype}({text})")]


# --- T ---


def tree_fixes(site: Site, explained: list[Explanation]) -> Iterable[Any]:
    """Pass the same containers, the same way."""
    odd = [e for e in explained if "T" in e.letters]
    first = explained[0].miss
    paths = {d.path for e in odd for d in e.causes if d.cause == "T"}
    if paths == {"arguments"}:
        title = "pass every argument the same way (by position or by keyword)"
        yield title, *_call_edits(odd, lambda s, call: _position_edits(s, call, first))
        return
    olds = {d.old.split(" of ")[0] for e in odd for d in e.causes if d.cause == "T"}
    kinds = olds & {"a list", "a tuple"}
    if len(paths) == 1 and len(kinds) == 1 and all(_is_sequence(e) for e in odd):
        (path,), kind = paths, kinds.pop()[2:]

        def convert(source: Source, call: ast.Call) -> list[Edit]:
            node = _argument(call, first, path)
            if node is None:
                return []
            return [(*source.span(node), f"{kind}({source.segment(node)})")]

        yield f"pass {path} as a {kind} every time", *_call_edits(odd, convert)
        return
    where = ", ".join(sorted(paths))
    yield f"give {where} the same containers and keys every time (zeros instead of None)", None, []


def _is_sequence(e: Explanation) -> bool:
    """Say whether a list stands for a tuple of the same length, or the other way round."""
    return all(
        d.old.startswith(("a list", "a tuple"))
        and d.new.startswith(("a list", "a tuple"))
        and d.old.split(" of ")[1] == d.new.split(" of ")[1]
        for d in e.causes
        if d.cause == "T"
    )


def _position_edits(source: Source, call: ast.Call, first: Miss) -> list[Edit]:
    """Turn keywords into positions, if the first call passed these by position."""
    wanted = first.parameters[len(call.args) :]
    given = {k.arg: source.segment(k.value) for k in call.keywords}
    if list(wanted) != [n for n in wanted if n in given] or len(given) != len(wanted) or not given:
        return []
    args = [source.segment(a) for a in call.args] + [given[n] for n in wanted]
    start = source.span(call.func)[1]
    return [(start, source.span(call)[1], f"({', '.join(args)})")]


# --- F, G, C, X ---


def function_fixes(site: Site, explained: list[Explanation]) -> Iterable[Any]:
    """Make the function once."""
    miss = next(e.miss for e in reversed(explained) if "F" in e.letters)
    made = miss.made_at
    source = Source.of(made.file) if made is not None else None
    edits = hoist(source, made) if source is not None and made is not None else None
    if source is not None and edits:
        yield "make the jitted function once, outside the code that repeats it", source, edits
        return
    what = {"bound": "object", "functo": "partial"}.get(miss.kind.split(" ")[0][:6], "function")
    where = f" ({made.short()})" if made is not None else ""
    yield f"make the {what} and its jit once{where} and keep it; pass what varies", None, []


def global_fixes(site: Site, explained: list[Explanation]) -> Iterable[Any]:
    """Pass what changes as an argument."""
    changed = [d for e in explained for d in e.causes if d.cause == "G" and d.path]
    for name in dict.fromkeys(d.path for d in changed):
        title = f"pass {name} as an argument"
        source = Source.of(site.file)
        function = source.function_at(site.line, site.name) if source is not None else None
        direct = all(e.miss.is_direct for e in explained)
        if source is None or function is None or not name.isidentifier() or not direct:
            yield title, None, []
            continue
        calls = {id(c): c for c in (source.call_at(e.miss.caller) for e in explained)}
        found = [c for c in calls.values() if c is not None]
        edits = with_parameters(source, function, [name], found) if len(found) == len(calls) else []
        if edits:  # then nothing has to be forgotten any more
            edits += _removed(source, [e for e in explained if "G" in e.letters]) or []
        yield title, source, edits or []


def config_fixes(site: Site, explained: list[Explanation]) -> Iterable[Any]:
    """Settle the configuration first."""
    names = dict.fromkeys(
        d.path.removeprefix("config ") for e in explained for d in e.causes if d.cause == "C"
    )
    yield f"set {', '.join(names)} once, before the first call", None, []


def evicted_fixes(site: Site, explained: list[Explanation]) -> Iterable[Any]:
    """Do not empty the cache."""
    title = "do not empty the cache between calls"
    mine = [e for e in explained if "X" in e.letters]
    line = mine[0].miss.evicted[1] if mine[0].miss.evicted else None
    source = Source.of(line.file) if line is not None else None
    yield title, source, _removed(source, mine) or [] if source is not None else []


def _removed(source: Source, explained: Iterable[Explanation]) -> list[Edit] | None:
    """Return the edits that take away the statements which emptied the cache, if that can be."""
    edits: list[Edit] = []
    for e in explained:
        call = source.call_at(e.miss.evicted[1]) if e.miss.evicted else None
        statement = source.parents.get(call) if call is not None else None
        if not isinstance(statement, ast.Expr):
            return None
        if len(getattr(source.parents[statement], "body", [])) == 1:
            edits.append((*source.span(statement), "pass"))
        elif not source.is_alone(statement):
            edits.append((*source.span_with_semicolon(statement), ""))
        else:
            edits.append((*source.line_span(statement), ""))
    return edits
