"""Log lines of ``log_compiles`` and ``explain_cache_misses``. In: a trace. Out: warnings.

The logger is ``jaxlite``; as in JAX the level is WARNING, so that the lines show without set-up.
"""

from __future__ import annotations

import logging

from jaxlite.diagnose.causes import explain
from jaxlite.diagnose.misses import Miss
from jaxlite.language.source import place_of
from jaxlite.settings import config

__all__ = ["log_compile", "log_miss", "milliseconds"]

logger = logging.getLogger("jaxlite")


def milliseconds(seconds: float) -> str:
    """Return a time in ms with two significant digits: ``0.09 ms``, ``2.1 ms``, ``412 ms``."""
    ms = seconds * 1e3
    return f"{ms:.0f} ms" if ms >= 9.95 else f"{ms:.1f} ms" if ms >= 1 else f"{ms:.2f} ms"


def log_compile(miss: Miss) -> None:
    """Say what was compiled, if ``log_compiles`` is set."""
    if config.frame.log_compiles:
        types = ", ".join(a.str_short() for a in miss.key.avals)
        logger.warning(
            "Compiling jit(%s) with global shapes and types (%s). Finished tracing in %.6f sec, "
            "compilation in %.6f sec",
            *(miss.site.name, types, miss.trace_s, miss.compile_s),
        )


def log_miss(miss: Miss) -> None:
    """Say why a function was traced, if ``explain_cache_misses`` is set."""
    if not config.frame.explain_cache_misses:
        return
    earlier = [m for m in miss.site.misses if m.number < miss.number]
    found = explain(miss, earlier)
    where = f" at {miss.caller.short()} ({miss.caller.function})" if miss.caller else ""
    defined = f"{miss.site.name} defined at {place_of(miss.site.file, miss.site.line)}"
    if found.nearest is None:
        text = f"never seen function: {defined}"
    else:
        text = f"for {defined}, against trace {found.nearest.number}: {found.why}"
    logger.warning("TRACING CACHE MISS%s: %s", where, text)
