"""Primitives whose parameters hold jaxprs: calls, control flow, custom derivatives, checkpoint.

Files, in reading order: ``jit`` (a call), ``custom_call`` and ``custom_derivatives`` (a call with
the user's derivative), ``checkpoint`` (a call that is computed again instead of saved), ``cond``,
``while_loop``, ``scan``.

They stand above ``transforms`` because their rules call transformations on the inner jaxprs.
Outside of ``jit`` they compile their body once per structure and run it, as everything else in a
jitted call.
"""
