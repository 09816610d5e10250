"""Programs and primitives on real arrays. Stage 7 of 7, and eager evaluation.

Files, in reading order: ``array`` (eager evaluation, installed into ``language.trace``),
``platform`` (what this machine has), ``library`` (BLAS by pointer), ``cpu`` (LLVM text to machine
code), ``disk_cache``, ``launch`` (stage 7: one native call), ``devices``.

Decisions. Eager operations run the primitive's ``impl`` on NumPy at once and compile nothing. A
jitted call is one native call for the whole program. Only this package knows llvmlite and CuPy.
"""
