"""Which names from outside a function reads. In: a code object.

Out: globals and closure cells, with attributes.

Found in the byte code, nested functions and comprehensions included: no source is needed, so it
works for functions made by ``exec`` and in a REPL.
"""

from __future__ import annotations

import dis
import functools
from dataclasses import dataclass
from types import CodeType

_LOADS = {"LOAD_ATTR", "LOAD_METHOD"}


@dataclass(frozen=True, slots=True)
class Read:
    """One name that code reads.

    ``kind`` is 'global' or 'closure', ``attributes`` what is read of it.
    """

    name: str
    kind: str
    attributes: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Write:
    """One name outside the function that code assigns or deletes."""

    name: str
    kind: str
    line: int = 0


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> tuple[Read, ...]:
    """Return the outside names that ``code`` reads, in order of first use."""
    found: dict[tuple[str, str, tuple[str, ...]], Read] = {}
    _collect_reads(code, frozenset(code.co_freevars), found)
    return tuple(found.values())


@functools.lru_cache(maxsize=4096)
def attributes_of_first(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """Return the chains of attributes that a method reads of its first parameter (``self``)."""
    if not code.co_argcount:
        return ()
    first = code.co_varnames[0]
    found: dict[tuple[str, ...], None] = {}
    instructions = list(dis.get_instructions(code))
    for i, ins in enumerate(instructions):
        if ins.opname.startswith("LOAD_FAST"):
            # Newer versions of Python load two names at once; attributes are read of the last.
            name = ins.argval[-1] if isinstance(ins.argval, tuple) else ins.argval
            chain = _attributes_after(instructions, i) if name == first else ()
            if chain:
                found[chain] = None
    return tuple(found)


def _collect_reads(
    code: CodeType, outer: frozenset[str], found: dict[tuple[str, str, tuple[str, ...]], Read]
) -> None:
    instructions = list(dis.get_instructions(code))
    line = code.co_firstlineno
    for i, ins in enumerate(instructions):
        line = _line_of(ins, line)
        kind = None
        if ins.opname == "LOAD_GLOBAL":
            kind = "global"
        elif ins.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and ins.argval in outer:
            kind = "closure"
        if kind is None:
            continue
        attributes = _attributes_after(instructions, i)
        key = (ins.argval, kind, attributes)
        found.setdefault(key, Read(ins.argval, kind, attributes, line))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            # A free name of an inner function comes from outside only if it is free here too.
            _collect_reads(const, outer & frozenset(const.co_freevars), found)


def _line_of(ins: dis.Instruction, line: int) -> int:
    positions = getattr(ins, "positions", None)
    return positions.lineno if positions is not None and positions.lineno else line


def _attributes_after(instructions: list[dis.Instruction], i: int) -> tuple[str, ...]:
    """Return the chain of attributes read from the value that instruction ``i`` loads."""
    chain = []
    for ins in instructions[i + 1 :]:
        if ins.opname in ("CACHE", "PUSH_NULL", "EXTENDED_ARG"):
            continue
        if ins.opname not in _LOADS:
            break
        chain.append(str(ins.argval))
        if ins.opname == "LOAD_METHOD":
            break
    return tuple(chain)


@functools.lru_cache(maxsize=4096)
def writes_of(code: CodeType) -> tuple[Write, ...]:
    """Return the outside names that ``code`` assigns or deletes (``global`` and ``nonlocal``)."""
    found: dict[tuple[str, str], Write] = {}
    _collect_writes(code, frozenset(code.co_freevars), found)
    return tuple(found.values())


def _collect_writes(
    code: CodeType, outer: frozenset[str], found: dict[tuple[str, str], Write]
) -> None:
    line = code.co_firstlineno
    for ins in dis.get_instructions(code):
        line = _line_of(ins, line)
        if ins.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            found.setdefault((ins.argval, "global"), Write(ins.argval, "global", line))
        elif ins.opname in ("STORE_DEREF", "DELETE_DEREF") and ins.argval in outer:
            found.setdefault((ins.argval, "closure"), Write(ins.argval, "closure", line))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _collect_writes(const, outer & frozenset(const.co_freevars), found)
