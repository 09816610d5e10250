"""The loop nest of each group, with the user's names. In: groups, steps. Out: text per group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jaxlite_ipython.views.costs import role_of

__all__ = ["assign", "buffer_names", "inner_names", "inner_steps", "renamed", "source_text"]

_WORD = re.compile(r"[A-Za-z_]\w*")
#: A word that is no field, such as the ``x`` of ``blockIdx.x``.
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


def assign(groups: list[Any], steps: list[Any]) -> list[list[Any]]:
    """Return the steps of each group: both lists are in the order in which things run."""
    owned: list[list[Any]] = [[] for _ in groups]
    waiting: list[Any] = []  # preparations, such as packing an operand: they belong to what follows
    at = 0
    for step in steps:
        if hasattr(step, "src"):
            continue  # a copy
        found = next((k for k in range(at, len(groups)) if _fits(groups[k], step)), None)
        if found is None:
            waiting.append(step)
            continue
        owned[found] += [*waiting, step]
        waiting = []
        at = found + 1
    if groups and waiting:
        owned[-1] += waiting
    return owned


def _fits(group: Any, step: Any) -> bool:
    if hasattr(step, "kernel"):
        name, own = step.kernel.name, _identifier(group.name)
        if group.kind in ("dot", "host", "control"):
            return False
        return bool(name == own or (name.startswith(f"{own}_") and name[len(own) + 1 :].isdigit()))
    if hasattr(step, "routine"):
        return bool(group.kind == "dot")
    if hasattr(step, "primitive"):
        return bool(group.kind == "host")
    return bool(group.kind == "control")


def _identifier(text: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in text)


def inner_steps(steps: list[Any], n: int, eqn: Any) -> list[list[Any]]:
    """Return the steps of each body of a loop or branch, in the order of the parameters."""
    step = next((s for s in steps if not hasattr(s, "kernel")), None)
    if step is not None and hasattr(step, "branches"):
        bodies = [list(b) for b in step.branches]
    elif step is not None and hasattr(step, "cond"):
        order = [k for k in eqn.params if k in ("cond_jaxpr", "body_jaxpr")]
        bodies = [list(step.cond if k == "cond_jaxpr" else step.body) for k in order]
    else:
        bodies = [list(getattr(step, "body", ()))]
    return (bodies + [[]] * n)[:n]


def buffer_names(jaxpr: Any, names: dict[Any, str]) -> dict[str, str]:
    """Return the user's name (or ``tmp_f``) of each buffer; they are called like printed vars."""
    result: dict[str, str] = {}
    variables = [*jaxpr.constvars, *jaxpr.invars]
    variables += [v for e in jaxpr.eqns for v in e.outvars if type(v).__name__ != "DropVar"]
    used: set[str] = set()
    for k, var in enumerate(variables):
        letter = _letters(k)
        name = _as_identifier(names.get(var, ""))
        if not name or name in used:
            name = f"{name or 'tmp'}_{letter}"
        used.add(name)
        result[letter] = name
    return result


def _as_identifier(name: str) -> str:
    """Return ``params_0_w`` for ``params[0]['w']``; '' for a value without a name."""
    if name.isidentifier():
        return name
    text = re.sub(r"\W+", "_", name).strip("_")
    if not text or name.startswith("("):
        return ""
    return text if text.isidentifier() else f"result_{text}"


def _letters(n: int) -> str:
    text = ""
    while True:
        n, digit = divmod(n, 26)
        text = chr(97 + digit) + text
        if not n:
            return text


def source_text(steps: list[Any], buffers: dict[str, str]) -> str:
    """Return the steps of a group as text."""
    parts = []
    for step in steps:
        if hasattr(step, "kernel"):
            parts.append(_kernel_text(step, buffers))
        elif hasattr(step, "routine"):
            parts.append(_call_text(step.routine, step, buffers))
        elif hasattr(step, "primitive"):
            name = f"numpy {getattr(step.primitive, 'name', '')}"
            parts.append(_call_text(name, step, buffers))
        elif hasattr(step, "trip"):
            parts.append(f"for {step.counter} in {step.trip}{', reverse' * step.reverse}: ...")
        elif hasattr(step, "branches"):
            parts.append(f"one of {len(step.branches)} branches, by {step.index.buffer}")
        else:
            parts.append("while the test holds: ...")
    return "\n".join(parts)


def _kernel_text(step: Any, buffers: dict[str, str]) -> str:
    """Return the loop nest with the user's names for its buffers."""
    text = _without_comments(str(step.kernel))
    return renamed(text, step, buffers)


def renamed(text: str, step: Any, buffers: dict[str, str]) -> str:
    """Return code of a kernel with the user's names for its buffers."""
    own = set(_NAME.findall(text))
    table: dict[str, str] = {}
    for param, view in zip(step.kernel.params, step.args, strict=True):
        name = buffers.get(view.buffer)
        if name is not None and name not in table.values():
            table[param.name] = f"{name}_" if name in own else name
    return _WORD.sub(lambda m: table.get(m.group(), m.group()), text)


def _call_text(name: str, step: Any, buffers: dict[str, str]) -> str:
    outs = ", ".join(buffers.get(v.buffer, v.buffer) for v in step.outs)
    values = [buffers.get(v.buffer, v.buffer) for v in step.ins]
    values += [f"{k}={v}" for k, v in step.params if isinstance(v, int | bool | str)]
    return f"{outs} = {name}({', '.join(values)})"


def _without_comments(source: str) -> str:
    lines = source.split("\n")
    return "\n".join(line for line in lines if not line.lstrip().startswith("# "))


def inner_names(eqn: Any, which: str, names: dict[Any, str]) -> list[str]:
    """Return names for the arguments of a loop's body, a loop's test or a branch."""

    def outer(atoms: Sequence[Any], form: str = "{}") -> list[str]:
        texts = ["a constant" if hasattr(a, "val") else names.get(a, "(argument)") for a in atoms]
        return [form.format(t) for t in texts]

    params, ins = eqn.params, eqn.invars
    if role_of(eqn) == "while":
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        consts = ins[:n_cond] if which == "cond_jaxpr" else ins[n_cond : n_cond + n_body]
        state = eqn.outvars
        return [*outer(consts), *outer(state, "{} so far")]
    if role_of(eqn) == "scan":
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        state = eqn.outvars[:n_carry]
        rows = ins[n_consts + n_carry :]
        return [*outer(ins[:n_consts]), *outer(state, "{} so far"), *outer(rows, "row of {}")]
    return outer(ins[1:])
