"""The compiler: a jaxpr becomes a program of kernels. Stages 4 (optimise), 5 (fuse) and 6 (emit).

Purpose: turn equations on whole arrays into few loop nests that read and write memory as little as
possible. Text and data only: nothing here touches a device, LLVM or CuPy.

Files, in reading order: ``optimise`` (jaxpr to jaxpr; rules in ``simplify``, constants in ``fold``,
equality in ``structure``), ``fuse`` (equations to groups; data in ``plan``, how operands are read
in ``access``), ``lower`` (groups to kernels and steps), ``plan_memory`` (temps to workspace
offsets), ``emit_llvm`` (kernels to text). Below ``lower``: ``pull`` (one element through its
producers), ``index`` (index arithmetic in normal form), ``schedule`` (where each shared value is
computed), ``lower_nest`` (loops, reductions, rows), ``lower_dot``, ``lower_scatter``,
``lower_control``.

Decisions. *Pull*: a kernel is made by asking for one element of its result; producers answer with
expressions of their operands' elements, so slices, pads, broadcasts and gathers are index maps and
cost no memory. Expressions are hash-consed, so sharing needs no bookkeeping until ``schedule``.
*Backwards*: fusion visits consumers before producers, because whether a value needs memory depends
on who reads it. *Heights instead of path searches*: a group's height is its distance from the
results; groups of equal height cannot depend on each other, which keeps merging linear in time and
free of cycles. *Every boundary has a reason* (``FusionBarrier``), shown to users as it is.
Rejected: a cost model that tries plans (slow to compile, hard to explain), and one loop per
equation merged afterwards (index maps would need their own rewriting).
"""
