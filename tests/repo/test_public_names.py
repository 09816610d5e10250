"""``__all__`` of each public module is complete: no name missing, none too many, none twice."""

import ast
import importlib
import types
from pathlib import Path

import pytest

import jaxlite

PACKAGE = Path(jaxlite.__file__).parent
# Folders and files whose meaning is the engine's; everything else is for users.
ENGINE = {
    *("api", "cli", "compiler", "diagnose", "higher_order", "kernel_ir", "language"),
    *("pipeline", "primitives", "runtime", "transforms", "events", "settings", "__main__"),
}


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
        if not item.startswith("_") and is_ours(value) and item not in module.__all__
    }
    # Annotations may need a name that users do not: it is imported under TYPE_CHECKING or as `_x`.
    assert unlisted == set()


def is_ours(value: object) -> bool:
    if isinstance(value, types.ModuleType):
        return False  # submodules appear as attributes once imported
    return str(getattr(value, "__module__", "")).partition(".")[0] == "jaxlite"


def test_the_engine_list_names_real_modules() -> None:
    names = {path.stem for path in PACKAGE.iterdir()}
    assert names >= ENGINE


def test_public_modules_have_no_star_imports() -> None:
    stars = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom(names=[ast.alias(name="*")]):
                    stars.append(path.relative_to(PACKAGE).as_posix())
    assert stars == []
