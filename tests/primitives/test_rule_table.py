"""Every primitive has every rule, or says why not."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import jaxlite
import jaxlite.primitives
from jaxlite.language.primitive import Primitive
from jaxlite.primitives.families import Elementwise, NaryElementwise
from jaxlite.primitives.slope import Slope
from tests.primitives.samples import SAMPLES

RULES = ("abstract_eval", "impl", "jvp", "transpose", "batch")


def module_names() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules(jaxlite.primitives.__path__))


def primitives() -> Iterator[Primitive]:
    """All instances that the modules of ``primitives/`` define."""
    seen: set[int] = set()
    for name in module_names():
        module = importlib.import_module(f"jaxlite.primitives.{name}")
        for value in vars(module).values():
            if isinstance(value, Primitive) and id(value) not in seen:
                seen.add(id(value))
                yield value


ALL = sorted(primitives(), key=lambda p: (p.name, type(p).__name__))


def owner(primitive: Primitive, rule: str) -> type:
    """The class that defines the rule."""
    return next(c for c in type(primitive).__mro__ if rule in vars(c))


def cell(primitive: Primitive, rule: str) -> str:
    """One cell of the table: 'yes', the reason of an absent rule, or '' for a forgotten one."""
    # NaryElementwise has jvp and transpose for all its members, made of partial and adjoints.
    if owner(primitive, rule) is NaryElementwise:
        rule = {"jvp": "partial", "transpose": "adjoints"}.get(rule, rule)
        if rule == "partial" and owner(primitive, rule) is NaryElementwise:
            return ""
    reason = getattr(getattr(type(primitive), rule), "reason", None)
    if reason:
        return str(reason)
    return "yes" if owner(primitive, rule) is not Primitive else ""


@pytest.mark.parametrize("primitive", ALL, ids=lambda p: f"{type(p).__name__}")
def test_no_rule_is_forgotten(primitive: Primitive) -> None:
    empty = [rule for rule in RULES if not cell(primitive, rule)]
    assert not empty, f"{primitive} of {type(primitive).__module__} lacks {empty}"


def test_every_primitive_is_named_once() -> None:
    names = [p.name for p in ALL if not _is_variant(p)]
    assert len(names) == len(set(names))


def _is_variant(primitive: Primitive) -> bool:
    """A subclass that keeps the name: the same function with other rounding."""
    return any(
        issubclass(base, Primitive) and base.__dict__.get("name") == primitive.name
        for base in type(primitive).__mro__[1:]
    )


@pytest.mark.parametrize("name", module_names())
def test_modules_say_what_they_export(name: str) -> None:
    module = importlib.import_module(f"jaxlite.primitives.{name}")
    assert module.__doc__
    exported = getattr(module, "__all__", None)
    assert exported, f"{name} has no __all__"
    missing = [n for n in exported if not hasattr(module, n)]
    assert not missing
    here = [
        n
        for n, v in vars(module).items()
        if isinstance(v, Primitive) and type(v).__module__ == module.__name__
    ]
    assert set(here) <= set(exported), set(here) - set(exported)


def test_every_elementwise_primitive_has_a_sample() -> None:
    sampled = {s.primitive.name for s in SAMPLES}
    # Tested with the random numbers they are for, and as the derivatives they are (tests/scipy).
    elsewhere = {"fma", "random_gamma_grad"} | {p.name for p in ALL if isinstance(p, Slope)}
    untested = {p.name for p in ALL if isinstance(p, Elementwise) and not _is_variant(p)} - sampled
    assert untested <= elsewhere
