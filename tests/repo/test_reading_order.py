"""The reading order in ``jaxlite.READING_ORDER`` leads to things that exist."""

import ast
from pathlib import Path

import jaxlite

PACKAGE = Path(jaxlite.__file__).parent


def test_every_step_of_the_reading_order_exists() -> None:
    missing = []
    for step in jaxlite.READING_ORDER:
        path, _, name = step.partition(":")
        file = PACKAGE / path
        if not file.is_file() or (name and name not in top_level_names(file)):
            missing.append(step)
    assert missing == []


def test_the_reading_order_visits_all_seven_stages() -> None:
    files = {step.partition(":")[0] for step in jaxlite.READING_ORDER}
    spine = ["api/jit.py", "transforms/stage_out.py", "language/jaxpr.py", "pipeline.py"]
    engine = ["compiler/optimise.py", "compiler/fuse.py", "compiler/lower.py", "runtime/launch.py"]
    assert [file for file in spine + engine if file not in files] == []


def top_level_names(file: Path) -> set[str]:
    """Names that ``file`` itself defines; imported ones lead the reader to another file."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names
