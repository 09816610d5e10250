"""A trace, line by line. In: a function and arguments. Out: ``Recording``: what each line did.

The function runs once on tracers, as under ``jit``; meanwhile every line of the user's is noted
with the equations it has recorded and what its names hold. Afterwards the recorded equations run on
the arguments, so that each traced name has a value beside its type. ``captions`` say the lesson.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from jaxlite.diagnose.captured import short_value
from jaxlite.language.array import Array
from jaxlite.language.jaxpr import DebugInfo, JaxprEqn, Literal
from jaxlite.language.pytree import (
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
)
from jaxlite.language.source import is_user_file
from jaxlite.language.trace import get_aval, state
from jaxlite.transforms.stage_out import JaxprTracer, StagingTrace, stage_out

__all__ = ["MAX_STEPS", "Held", "Recording", "Step", "record"]

#: More steps than this are not recorded.
MAX_STEPS = 500
#: Names of a line that are shown.
_MAX_NAMES = 12


@dataclass(slots=True)
class Held:
    """What a name holds: its ``type`` and either ``atom`` (traced) or ``text`` (Python's value)."""

    name: str
    type: str
    text: str = ""
    atom: Any = None
    is_new: bool = False


@dataclass(slots=True)
class Step:
    """One line that has run.

    ``eqns`` are the equations it recorded itself (not those of functions it called), ``first`` the
    number of the first one in the whole trace; ``depth`` counts calls of user functions.
    """

    number: int
    file: str
    function: str
    line: int
    text: str
    depth: int
    frame: int
    eqns: list[JaxprEqn] = field(default_factory=list)
    first: int = 0
    names: list[Held] = field(default_factory=list)
    caption: str = ""
    is_inner: bool = False


@dataclass(slots=True)
class Recording:
    """All steps of one trace; ``values`` are the values of vars, ``error`` ended it early."""

    name: str
    steps: list[Step]
    eqns: list[JaxprEqn]
    inputs: list[tuple[str, Any]]
    values: dict[Any, Any]
    error: BaseException | None = None
    was_cut: bool = False
    outputs: list[Any] = field(default_factory=list)

    def value(self, atom: Any) -> Any:
        """Return the value of a var or literal, None if it is not known."""
        return atom.array() if isinstance(atom, Literal) else self.values.get(atom)


def record(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    static: frozenset[str] = frozenset(),
) -> Recording:
    """Trace ``fun`` and return its steps. An error of the function's ends the recording.

    A Python number whose value Python needs (as ``static_argnames`` would give it) stays a number:
    the recording is made again with its name in ``static``.
    """
    leaves, tree = tree_flatten((tuple(args), kwargs))
    name = getattr(fun, "__name__", type(fun).__name__)
    paths = tree_flatten_with_path((tuple(args), kwargs))[0]
    every = [_argument_name(fun, path) for path, _ in paths]
    places = [i for i, x in enumerate(leaves) if _is_traceable(x) and every[i] not in static]
    names = [every[i] for i in places]
    watch = _Watch()

    def flat(*tracers: Any) -> list[Any]:
        full = list(leaves)
        for i, t in zip(places, tracers, strict=True):
            full[i] = t
        given, named = tree_unflatten(tree, full)
        watch.start(state.trace)
        try:
            out = fun(*given, **named)
        finally:
            watch.stop()
        return [x for x in tree_leaves(out) if _is_traceable(x)]

    error: BaseException | None = None
    outputs: list[Any] = []
    try:
        info = DebugInfo(name, tuple(names))
        closed = stage_out(flat, [get_aval(leaves[i]) for i in places], info)
        outputs = list(closed.jaxpr.outvars)
    except Exception as caught:  # what the function raised is the last step, not a fault of ours
        if watch.trace is None:
            raise
        depends = set(getattr(caught, "depends_on", ()))
        numbers = {n for n, i in zip(names, places) if isinstance(leaves[i], int | float)}
        if depends & numbers:
            return record(fun, args, kwargs, static | (depends & numbers))
        error = caught
    trace = watch.trace
    assert trace is not None
    arguments = [leaves[i] for i in places]
    values = _evaluate(trace, arguments)
    steps = watch.steps
    _say(steps, error)
    inputs = list(zip(names, trace.invars, strict=True))
    return Recording(name, steps, list(trace.eqns), inputs, values, error, watch.was_cut, outputs)


def _argument_name(fun: Any, path: Any) -> str:
    """Return ``ws[0]`` for the place of a leaf in ``(args, kwargs)``."""
    which, where, *rest = path
    name = str(getattr(where, "key", ""))
    if getattr(which, "idx", 0) == 0:
        try:
            parameters = list(inspect.signature(fun).parameters.values())
        except (TypeError, ValueError):  # a function of C's
            parameters = []
        number = int(getattr(where, "idx", 0))
        positional = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
        name = positional[number] if number < len(positional) else f"args[{number}]"
    return name + "".join(map(str, rest))


def _is_traceable(x: Any) -> bool:
    if isinstance(x, bool | str | bytes) or x is None:
        return False
    if isinstance(x, np.ndarray):
        return x.dtype.kind not in "OSUmM"
    return isinstance(x, Array | int | float | complex | np.generic)


def _evaluate(trace: StagingTrace, args: Sequence[Any]) -> dict[Any, Any]:
    """Return the value of every var that can be computed (no effects, no failures)."""
    values: dict[Any, Any] = dict(zip(trace.invars, args, strict=True))
    values.update(zip(trace.constvars, trace.consts, strict=True))
    for eqn in trace.eqns:
        ins = [a.array() if isinstance(a, Literal) else values.get(a) for a in eqn.invars]
        if eqn.effects or any(x is None or isinstance(x, JaxprTracer) for x in ins):
            continue
        try:
            outs = eqn.primitive.bind_all(*ins, **eqn.params)
        except (ArithmeticError, MemoryError, RuntimeError, NotImplementedError):
            continue  # a value that cannot be had is left out
        values.update(zip(eqn.outvars, outs, strict=True))
    return values


class _Watch:
    """Listens to Python while it runs the function."""

    def __init__(self) -> None:
        self.trace: StagingTrace | None = None
        self.steps: list[Step] = []
        self.was_cut = False
        self._before: Any = None
        self._depth = 0
        self._frames = 0
        #: Per frame: number, the line that is running, ids of what its names held before.
        self._open: dict[FrameType, _Open] = {}

    def start(self, trace: Any) -> None:
        """Listen from now on."""
        self.trace = trace
        self._before = sys.gettrace()
        sys.settrace(self._call)

    def stop(self) -> None:
        """Listen no longer."""
        sys.settrace(self._before)

    def _call(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if event != "call" or not is_user_file(code.co_filename) or _is_hidden(code):
            return None
        if self._open and not _may_be_user(frame):
            return None
        self._frames += 1
        self._depth += 1
        trace = state.trace
        held = {n: id(v) for n, v in frame.f_locals.items()} if self._depth > 1 else {}
        self._open[frame] = _Open(self._frames, trace, held)
        return self._local

    def _local(self, frame: FrameType, event: str, _: Any) -> Any:
        here = self._open.get(frame)
        if here is None:
            return None
        if event == "line":
            self._flush(frame, here)
            here.line, here.text_code = frame.f_lineno, frame.f_code
            here.start = _count(here.trace)
            here.mine = []
        elif event in ("return", "exception"):
            self._flush(frame, here)
            if event == "return":
                self._close(frame, here)
        return self._local

    def _flush(self, frame: FrameType, here: _Open) -> None:
        """Note the line that has just run."""
        if not here.line:
            return
        line, here.line = here.line, 0
        if len(self.steps) >= MAX_STEPS:
            self.was_cut = True
            return
        end = _count(here.trace)
        eqns = getattr(here.trace, "eqns", [])
        own = [eqns[k] for k in range(here.start, end) if not _is_in(k, here.mine)]
        names = self._names(frame, here)
        is_end = frame.f_code.co_filename.startswith("<jit cell") and not own
        if is_end and self.steps and (here.number, line) == _place(self.steps[-1]):
            return  # a notebook cell collects its names at the end
        self.steps.append(
            Step(
                len(self.steps) + 1,
                frame.f_code.co_filename,
                frame.f_code.co_name,
                line,
                linecache.getline(frame.f_code.co_filename, line).rstrip("\n"),
                self._depth,
                here.number,
                own,
                here.start,
                names,
                is_inner=here.trace is not self.trace,
            )
        )

    def _close(self, frame: FrameType, here: _Open) -> None:
        self._depth -= 1
        del self._open[frame]
        # What was recorded in here is not the caller's own.
        for caller in self._open.values():
            if caller.trace is here.trace:
                caller.mine.append((here.first, _count(here.trace)))

    def _names(self, frame: FrameType, here: _Open) -> list[Held]:
        found: list[Held] = []
        for name, value in frame.f_locals.items():
            is_new = here.held.get(name) != id(value)
            here.held[name] = id(value)
            found += _held(name, value, is_new)
        found.sort(key=lambda h: not h.is_new)
        return found[:_MAX_NAMES]


@dataclass(slots=True, eq=False)
class _Open:
    """A frame that is running."""

    number: int
    trace: Any
    held: dict[str, int]
    line: int = 0
    text_code: CodeType | None = None
    start: int = 0
    first: int = 0
    mine: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first = _count(self.trace)


def _place(step: Step) -> tuple[int, int]:
    return step.frame, step.line


def _count(trace: Any) -> int:
    return len(getattr(trace, "eqns", ()))


def _is_in(k: int, ranges: list[tuple[int, int]]) -> bool:
    return any(a <= k < b for a, b in ranges)


def _is_hidden(code: CodeType) -> bool:
    """Say whether a frame is part of a line of another one: a comprehension."""
    return code.co_name.startswith("<") and code.co_name not in ("<lambda>", "<module>")


def _may_be_user(frame: FrameType) -> bool:
    """Say whether the lines of a frame are worth showing.

    Not those of installed packages, nor of methods that ``dataclass`` made of text.
    """
    filename = frame.f_code.co_filename
    if filename == "<string>":
        caller = frame.f_back
        return (
            caller is not None and is_user_file(caller.f_code.co_filename) and _may_be_user(caller)
        )
    return "site-packages" not in filename and not filename.startswith(sys.base_prefix)


def _held(name: str, value: Any, is_new: bool) -> list[Held]:
    """Return what a name holds; a container as its traced leaves."""
    if isinstance(value, JaxprTracer):
        return [Held(name, value.aval.str_short(), atom=value.atom, is_new=is_new)]
    if isinstance(value, Array | np.ndarray):
        return [Held(name, _type_of(value), short_value(value), is_new=is_new)]
    if isinstance(value, list | tuple | dict):
        leaves = tree_leaves(value)
        if any(isinstance(x, JaxprTracer) for x in leaves):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            return [h for k, v in list(items)[:4] for h in _held(f"{name}[{k!r}]", v, is_new)]
    if callable(value) or name.startswith("__"):
        return []
    return [Held(name, type(value).__name__, short_value(value), is_new=is_new)]


def _type_of(value: Any) -> str:
    text: str = get_aval(value).str_short()
    return text


# --- captions ---


def _say(steps: list[Step], error: BaseException | None) -> None:
    """Give every step its caption."""
    turns: dict[tuple[int, int], int] = {}
    for step in steps:
        turns[step.frame, step.line] = turns.get((step.frame, step.line), 0) + 1
    said: dict[tuple[int, int], int] = {}
    called = ""
    for step, before in zip(steps, [None, *steps], strict=False):
        key = (step.frame, step.line)
        said[key] = said.get(key, 0) + 1
        called = before.function if before is not None and before.depth > step.depth else ""
        step.caption = _caption(step, turns[key], said[key], called)
    if error is not None and steps:
        first = str(error).split("\n")[0]
        steps[-1].caption = f"{type(error).__name__}: {first}"


def _caption(step: Step, turns: int, turn: int, called: str) -> str:
    """Return the lesson of a step: hit ``turn`` of ``turns`` of its line in this frame."""
    node = _statement(step.text)
    names = [e.primitive.name for e in step.eqns]
    match node:
        case ast.For() | ast.AsyncFor():
            n = turns - 1
            if 1 < turn < turns:
                return f"turn {turn} of {n}: its operations are recorded once more"
            if 1 < turn == turns:
                return f"for is over after {n} turn{'' if n == 1 else 's'}"
            return f"for ran {n} time{'' if n == 1 else 's'}: {n} cop{'y' if n == 1 else 'ies'}"
        case ast.If(test=test):
            why = _deciders(test, step)
            return f"this if was decided here{why}: the other branch is not in the trace"
        case ast.While(test=test):
            copies = f"{turns - 1} cop{'y' if turns == 2 else 'ies'} in the trace"
            return f"this while was decided here{_deciders(test, step)}: {copies}"
    calls = {ast.unparse(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)} if node else ()
    if "print" in calls:
        return "print ran now, while tracing: it leaves no op"
    if step.is_inner and names:
        return f"recorded in the program of a jitted function: {', '.join(names)}"
    if "jit" in names:
        return f"recorded {', '.join(names)}: a jitted function is one op with its own program"
    if called and called != step.function:
        more = f", and {', '.join(names)} here" if names else ""
        return f"called {called}: what it recorded stands at its lines{more}"
    if names:
        return f"recorded {', '.join(names)}"
    if isinstance(node, ast.Return):
        return "returned: no op of its own"
    return "Python ran this: it leaves no op"


def _statement(text: str) -> Any:
    """Return the syntax of one line, None if it is only part of a statement."""
    line = text.strip()
    if line.startswith(("elif ", "elif(")):
        line = line[2:]
    for candidate in (line, f"{line}\n    pass", f"try:\n    pass\n{line}\n    pass"):
        try:
            return ast.parse(candidate).body[0]
        except (SyntaxError, IndexError, ValueError):
            continue
    return None


def _deciders(test: ast.expr, step: Step) -> str:
    """Return `` (n = 3)``: the Python values that a condition has read."""
    read = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    found = [f"{h.name} = {h.text}" for h in step.names if h.name in read and h.text]
    return f" ({', '.join(found)})" if found else ""
