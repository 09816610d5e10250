"""What needs no picture.

Captured values, the cache log, why a call compiled again, lint rules, guards.

Files, in reading order: ``reads`` (which names a function reads), ``captured`` (their values when
it was traced, and what changed since), ``stale`` (the check at call time), ``cell_names`` and
``cell_history`` (who assigned what), ``jitted``, ``lint``, ``lint_reads`` and ``lint_effects``
(rules before a cell runs). The recompilation debugger: ``difference`` (two cache keys),
``misses`` (every trace), ``causes`` (why it happened), ``call_log`` (the last calls), ``guards``
(``no_recompile``, ``watch``), ``messages`` (log lines), ``cache_info``, ``padding``
(``pad_batch``, ``bucket``), ``source_edits``, ``fixes`` and ``hoist`` (edits that make a recompile
go away), ``why_recompiled`` (the report), ``repeated`` (the automatic word).
Gradients: ``flat_program`` (calls opened), ``gradient`` (both passes, linked),
``gradient_values`` (norms, NaN), ``check_gradient`` (finite differences), ``formulas``.
``batching``: what ``vmap`` does. ``axes``: which axes are the same. ``stepping``: a trace line by
line. ``progress``: how far loops are. ``machine``: this one's limits. ``kernel_times``,
``kernel_code``: seconds and generated code of each kernel. ``operation_values``: of one run.

Everything here works in plain scripts and pytest; the notebook extension only shows it.
"""
