"""``__all__`` of each public module is complete: no name missing, none too many, none twice."""

import importlib
from pathlib import Path

import pytest

import jaxlite

PACKAGE = Path(jaxlite.__file__).parent
# Folders and files whose meaning is the engine's; everything else is for users.
ENGINE = {
    *("api", "cli", "compiler", "diagnose", "higher_order", "kernel_ir", "language"),
    *("pipeline", "primitives", "runtime", "transforms", "events", "settings", "__main__"),
}


# IPython looks for these two by name; they are no part of what users call.
HOOKS = {"load_ipython_extension", "unload_ipython_extension"}


def public_modules() -> list[str]:
    names = {path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    names |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    return ["jaxlite", *(f"jaxlite.{name}" for name in sorted(names - ENGINE))]


@pytest.mark.parametrize("name", public_modules())
def test_every_listed_name_exists_once(name: str) -> None:
    module = importlib.import_module(name)
    listed = list(module.__all__)
    assert len(listed) == len(set(listed))
    assert [item for item in listed if not hasattr(module, item)] == []


@pytest.mark.parametrize("name", public_modules())
def test_every_public_name_is_listed(name: str) -> None:
    module = importlib.import_module(name)
    unlisted = {
        item
        for item, value in vars(module).items()
        if not item.startswith("_") and is_defined_in(name, value) and item not in module.__all__
    }
    assert unlisted - HOOKS == set()


def is_defined_in(module: str, value: object) -> bool:
    """Whether a function or class comes from ``module`` itself, not from a layer below it."""
    home = str(getattr(value, "__module__", ""))
    return callable(value) and (home == module or home.startswith(f"{module}."))


def test_the_engine_list_names_real_modules() -> None:
    names = {path.stem for path in PACKAGE.iterdir()}
    assert names >= ENGINE
