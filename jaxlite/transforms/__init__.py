"""Transformations: from a function or jaxpr to another one. Never sees a device.

Files, in reading order: ``stage_out`` (stage 2: record a jaxpr), ``eval_jaxpr`` (run one under the
current trace), ``jvp`` (forward mode), ``linearize`` (split into a primal part and a linear jaxpr),
``transpose`` (run a linear jaxpr backwards), ``vmap`` (carry a batch dim).

Each trace makes itself current while the user's function runs and hands its rules to its parent, so
any nesting works: ``grad(vmap(jit(f)))`` is three traces on top of each other.
"""
