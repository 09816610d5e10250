"""The cache of one jitted function as data. In: the function. Out: ``CacheInfo``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.messages import milliseconds
from jaxlite.diagnose.misses import source_function
from jaxlite.language.source import place_of

__all__ = ["CacheInfo", "SignatureInfo", "cache_info"]


@dataclass(frozen=True, slots=True)
class SignatureInfo:
    """One compilation: ``signature`` in words, ``hits`` (at least, unless ``is_counted``)."""

    signature: str
    hits: int
    is_counted: bool
    trace_s: float
    compile_s: float

    def __str__(self) -> str:
        plus = "" if self.is_counted else "+"
        hits = f"{self.hits}{plus} hit{'' if self.hits == 1 and self.is_counted else 's'}"
        cost = milliseconds(self.trace_s + self.compile_s)
        return f"{self.signature}  {hits}  {cost}"


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What ``f.cache_info()`` returns. ``traces`` counts also those that were evicted since."""

    name: str
    file: str
    line: int
    traces: int
    signatures: tuple[SignatureInfo, ...]

    @property
    def hits(self) -> int:
        """Calls that reused a compilation (at least)."""
        return sum(s.hits for s in self.signatures)

    @property
    def seconds(self) -> float:
        """Time of tracing and compiling what is in the cache."""
        return sum(s.trace_s + s.compile_s for s in self.signatures)

    def __str__(self) -> str:
        where = f" ({place_of(self.file, self.line)})" if self.file else ""
        n, cached = self.traces, len(self.signatures)
        plural = "" if n == 1 else "s"
        head = f"{self.name}{where}: {n} trace{plural}, {cached} cached"
        return "\n".join([head, *(f"  {s}" for s in self.signatures)])

    __repr__ = __str__


def cache_info(function: Any) -> CacheInfo:
    """Return the cache of ``function`` as data."""
    fun = function.__wrapped__
    inner = source_function(fun)
    signatures = [
        SignatureInfo(
            e.miss.signature, e.miss.hits_seen, e.miss.is_exact, e.miss.trace_s, e.miss.compile_s
        )
        for e in function.entries
    ]
    return CacheInfo(
        name=getattr(fun, "__name__", type(fun).__name__),
        file=inner.__code__.co_filename if inner is not None else "",
        line=inner.__code__.co_firstlineno if inner is not None else 0,
        traces=function.n_traces,
        signatures=tuple(signatures),
    )
