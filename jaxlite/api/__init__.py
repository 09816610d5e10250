"""What users call to transform functions: argument checking, pytrees, documentation; no algorithms.

Files, in reading order: ``arguments`` (functions, arguments and their names), ``jit`` (stage 1 of
7: one call), ``jit_cache``, ``make_jaxpr``, ``grad`` (all derivatives), ``vmap``,
``custom_derivatives``, ``checkpoint``, ``control_flow`` and ``loops``.
"""
