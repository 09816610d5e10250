"""``jaxlite doctor``: what works here, what does not and why, and the command that mends it.

In: this machine. Out: lines of text; the exit code is 0 if the CPU back end runs native code, else
1. Missing optional parts are reported but are no failure.
"""

from __future__ import annotations

import importlib
import os
import platform
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import jaxlite
from jaxlite.cli.console import table
from jaxlite.cli.parts import PARTS
from jaxlite.runtime import disk_cache
from jaxlite.settings import config
from jaxlite.version import __version__

ENGINE = ("numpy", "scipy", "llvmlite", "ml_dtypes", "opt_einsum")


@dataclass(frozen=True)
class Finding:
    """One thing looked at.

    Attributes:
        name: what was looked at.
        ok: whether it can be used.
        fact: version, or why it cannot be used.
        mend: the command that makes it usable, if one does.
    """

    name: str
    ok: bool
    fact: str
    mend: str = ""


def doctor() -> int:
    """Print all findings and return the exit code."""
    cpu, cuda = check_cpu(), check_cuda()
    print(f"jaxlite {__version__}, Python {platform.python_version()} ({sys.executable})")
    print(f"{platform.platform()}, {os.cpu_count()} cores")
    _section("Devices", [cpu, cuda])
    _section("Engine", [_installed(name) for name in ENGINE])
    print("\nCache of compiled code")
    print(table(cache_rows()))
    _section("Notebooks", list(check_parts()))
    return 0 if cpu.ok else 1


def check_cpu() -> Finding:
    """Compile and run a function on the CPU."""
    start_s = time.perf_counter()
    try:
        result = float(jaxlite.jit(lambda x: x * 2.0 + 1.0)(3.0))
    except Exception as error:  # whatever goes wrong is the finding
        reason = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        return Finding("cpu", False, reason, "pip install --upgrade llvmlite")
    if result != 7.0:
        reason = f"compiled code gave {result} for 3 * 2 + 1"
        return Finding("cpu", False, reason, "pip install --force-reinstall llvmlite")
    elapsed_ms = 1000 * (time.perf_counter() - start_s)
    return Finding("cpu", True, f"compiled and ran a function in {elapsed_ms:.0f} ms")


def check_cuda() -> Finding:
    """Look for CuPy, the driver and a GPU, in the order in which they are needed."""
    try:
        cuda = importlib.import_module("jaxlite.runtime.cuda")
        reason, _, fix = cuda.why_not().partition("\n  Fix: ")
    except Exception as error:  # a broken CuPy or driver: the text says which
        return Finding("cuda", False, str(error).strip().partition("\n")[0])
    if reason:
        return Finding("cuda", False, reason, fix)
    names = ", ".join(cuda.device_name(i) for i in range(cuda.count_devices()))
    return Finding("cuda", True, names)


def check_parts() -> Iterator[Finding]:
    """Yield one finding per optional part."""
    for part in PARTS.values():
        version = part.version()
        if version is None:
            yield Finding(part.distribution, False, f"missing; {part.purpose}", part.mend)
        else:
            yield Finding(part.distribution, True, f"{version}, {part.purpose}")


def describe_folder(folder: Path) -> list[tuple[str, ...]]:
    """Return what is known about a cache folder: path, size, and who may read it.

    Example:
        >>> describe_folder(Path("/no/such/folder"))
        [('folder', '/no/such/folder'), ('content', 'none yet')]
    """
    rows: list[tuple[str, ...]] = [("folder", str(folder))]
    if not folder.is_dir():
        return [*rows, ("content", "none yet")]
    sizes = [path.lstat().st_size for path in folder.rglob("*") if path.is_file()]
    rows.append(("content", f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB"))
    if sys.platform != "win32":
        facts = folder.stat()
        mode = stat.S_IMODE(facts.st_mode)
        private = facts.st_uid == os.getuid() and mode & 0o077 == 0
        verdict = "private" if private else f"NOT private. Fix: chmod 700 {folder}"
        rows.append(("permission", f"{mode:04o}, {verdict}"))
    return rows


def cache_rows() -> list[tuple[str, ...]]:
    """Return what is known about the folder that this process uses."""
    cache = disk_cache.current()  # makes the folder if it can: the doctor looks at the real thing
    if cache is not None:
        return describe_folder(cache.folder)
    wanted = config.cache_dir or ""
    if not config.enable_compilation_cache or wanted.lower() == "off":
        return [("folder", "off: compiled code lives as long as its process")]
    folder = Path(wanted).expanduser() if wanted else disk_cache.default_folder()
    return [*describe_folder(folder), ("used", "no, it cannot be made or is not private")]


def _installed(name: str) -> Finding:
    try:
        return Finding(name, True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(name, False, "missing", f"pip install {name}")


def _section(title: str, findings: list[Finding]) -> None:
    print(f"\n{title}")
    print(table([(f.name, "yes" if f.ok else "no", f.fact) for f in findings]))
    for finding in findings:
        if finding.mend:
            print(f"  Fix: {finding.mend}")
