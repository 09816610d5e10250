"""What needs no picture.

Captured values, the cache log, why a call compiled again, lint rules, guards.

Files, in reading order: ``reads`` (which names a function reads), ``captured`` (their values when
it was traced, and what changed since), ``stale`` (the check at call time), ``lint`` (rules before a
cell runs).

Everything here works in plain scripts and pytest; the notebook extension only shows it.
"""
