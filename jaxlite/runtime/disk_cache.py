"""Object code kept between processes. In: a key and bytes. Out: the bytes again, or nothing.

A cache is a hint, never a cause of failure: files that are damaged, foreign or unreadable count as
absent. Loading code that somebody else can write would run their code, so the folder has to be ours
alone (owner and mode 0700 are checked, links refused). ``JAXLITE_CACHE_DIR`` names another folder,
or is ``off``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Final

from jaxlite.errors import CacheError
from jaxlite.settings import config

_MAGIC: Final = b"jaxlite-object-1"
_DIGEST_BYTES: Final = 32
LIMIT_BYTES: Final = 256 * 2**20
MOST_FILES: Final = 8192
#: The folder's size is looked at once in so many writes, whoever makes them.
_SWEEP_EVERY: Final = 256


def key_of(*parts: str) -> str:
    """Return the key of everything the code depends on: text, CPU, features, versions.

    >>> key_of("text", "znver4") == key_of("text", "znver4"), key_of("a", "b") == key_of("ab", "")
    (True, False)
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


def default_folder() -> Path:
    """Return where this system keeps caches of programs."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "jaxlite" / "objects"


class DiskCache:
    """A folder of files ``<key>.o``, each with a checksum.

    Raises:
        CacheError: the folder exists and is not ours alone.
        OSError: it cannot be made.
    """

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        check_private(folder)

    def get(self, key: str) -> bytes | None:
        """Return the bytes stored under ``key``, None if there are none or they are damaged."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        try:
            file = os.open(self._path(key), flags)
        except OSError:
            return None
        with open(file, "rb") as stream:
            info = os.fstat(file)
            if not stat.S_ISREG(info.st_mode) or not _is_ours(info):
                return None
            content = stream.read()
        head = len(_MAGIC) + _DIGEST_BYTES
        data = content[head:]
        good = _MAGIC + hashlib.sha256(data).digest() == content[:head]
        return data if good else None

    def put(self, key: str, data: bytes) -> None:
        """Store ``data`` under ``key``; a full disk or a vanished folder is no error."""
        with contextlib.suppress(OSError):
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".new-")
            try:
                with open(handle, "wb") as stream:
                    stream.write(_MAGIC + hashlib.sha256(data).digest() + data)
                os.replace(temporary, self._path(key))
            except OSError:
                os.unlink(temporary)
                raise
            # Keys are random, so this works for many short processes as for one long one.
            if int(key_of(key)[:8], 16) % _SWEEP_EVERY == 0:
                self.sweep()

    def clear(self) -> None:
        """Remove every file of the cache."""
        for path in self.folder.glob("*.o"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.o"

    def sweep(self) -> None:
        """Remove the oldest files if the folder is over a limit, down to three quarters of it."""
        with os.scandir(self.folder) as entries:
            files = [(e.stat().st_mtime, e.stat().st_size, e.path) for e in entries]
        total, count = sum(size for _, size, _ in files), len(files)
        if total <= self.limit_bytes and count <= MOST_FILES:
            return
        for _, size, path in sorted(files):
            os.unlink(path)
            total -= size
            count -= 1
            if total <= self.limit_bytes * 3 // 4 and count <= MOST_FILES * 3 // 4:
                break


def _is_ours(info: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or info.st_uid == os.getuid()


def check_private(folder: Path) -> None:
    """Raise CacheError if others could put files into ``folder``."""
    info = os.lstat(folder)
    problem = ""
    if not stat.S_ISDIR(info.st_mode):
        problem = "it is not a folder"
    elif not _is_ours(info):
        problem = "it belongs to somebody else"
    elif hasattr(os, "getuid") and stat.S_IMODE(info.st_mode) & 0o077:
        problem = "others have access to it"
    if problem:
        raise CacheError(
            f"The compilation cache {folder} cannot be used: {problem}."
            f"\n  Fix: chmod 700 {folder}, or set JAXLITE_CACHE_DIR to another folder, or to off."
        )


_open: dict[str, DiskCache | None] = {}


def current() -> DiskCache | None:
    """Return the cache that the settings ask for, None if there is none or it cannot be used."""
    frame = config.frame
    wanted = frame.cache_dir or ""
    if not frame.enable_compilation_cache or wanted.lower() == "off":
        return None
    if wanted not in _open:
        _open[wanted] = _open_folder(wanted)
    return _open[wanted]


def _open_folder(wanted: str) -> DiskCache | None:
    try:
        return DiskCache(Path(wanted).expanduser() if wanted else default_folder())
    except OSError as error:  # CacheError is one
        if wanted:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        return None
