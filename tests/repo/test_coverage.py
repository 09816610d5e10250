"""``tests.coverage`` counts names and compares parameters."""

from types import ModuleType
from typing import Any

from tests.coverage import compare, load


def make(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(members)
    return module


def test_names_are_sorted_into_present_absent_and_missing() -> None:
    theirs = make(
        "a", same=lambda x, y: x, other=lambda x, axis: x, gone=1, left_out=2, load=load, _own=3
    )
    ours = make("b", same=lambda x, y: y, other=lambda x, axes: x, load=load)
    report = compare(theirs, ours, {"left_out"})
    assert report.present == ["load", "other", "same"]
    assert (report.missing, report.planned_absent) == (["gone"], ["left_out"])
    assert report.parameters == {"other": "['x', 'axis'] against ['x', 'axes']"}
    assert compare(theirs, None, set()).present == []


def test_modules_that_are_missing_are_none() -> None:
    assert load("tests.nothing") is None
    assert load("tests.coverage") is not None
