"""The loop language: what one generated kernel does, as pure data.

Purpose: one description of a loop nest that four readers share: a slow interpreter (the oracle),
LLVM IR (CPU), CUDA C (GPU) and a text for people. Nothing here knows a device.

Files, in reading order: ``nodes`` (expressions, statements, kernels), ``program`` (the steps of one
jitted call), ``pretty`` (both as text), ``check`` (is it well formed?), ``interpret`` (run it
slowly).

Decisions. Shapes are static, so every extent and stride is a number in the tree. Buffers are flat
and C-contiguous; an index is one i64 expression. Expressions are hash-consed: equal expressions are
one object, so a DAG costs no more than its distinct nodes and identity is equality. Statements are
plain frozen dataclasses, read with ``match`` and ``assert_never``.
"""
