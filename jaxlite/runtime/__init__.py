"""Programs and primitives on real arrays. Stage 7 of 7, and eager evaluation.

Files, in reading order: ``array`` (eager evaluation, installed into ``language.trace``),
``platform`` (what this machine has), ``library`` (BLAS by pointer), ``threads`` (loops shared by
threads), ``host_call`` (from machine code back to Python), ``cpu`` (LLVM text to machine code)
with ``disk_cache`` and ``upgrade`` (quick code first, careful code soon), ``memory`` (results and
workspaces), ``launch`` (stage 7: one native call).

Decisions. Eager operations run the primitive's ``impl`` on NumPy at once and compile nothing. A
jitted call is one native call for the whole program. Only this package knows llvmlite and CuPy.
"""
