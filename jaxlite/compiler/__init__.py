"""The compiler: a jaxpr becomes a program of kernels. Stages 4 (optimise), 5 (fuse) and 6 (emit).

Purpose: turn equations on whole arrays into few loop nests that read and write memory as little
as possible. Text and data only: nothing here touches a device, LLVM or CuPy.

Files, in reading order.
Stage 4: ``optimise`` (jaxpr to jaxpr), ``simplify`` (exact algebra), ``prune`` (dead code).
Stage 5, equations to groups: ``plan`` (the data), ``access`` (how operands are read, what an
equation costs), ``domain`` (the loops of a reduction), ``cluster`` (groups while they grow),
``fuse``.
Stage 5, groups to kernels: ``lower`` with ``block``; ``pull`` (one element through its
producers), ``index`` (index arithmetic in normal form), ``schedule`` (where shared values are
computed); then one file per kind of group: ``lower_nest`` and ``tile`` (loops), ``sweeps``,
``lower_reduce`` and ``lower_columns`` (reductions), ``lower_order`` (running sums, scatters),
``lower_dot``, ``lower_control`` with ``in_place`` (loops and branches); ``plan_memory``.
Stage 6: ``llvm_text`` (text under construction), ``llvm_arith``, ``llvm_complex``, ``llvm_math``
with ``llvm_inline`` (operators), ``llvm_memory``, ``llvm_affine`` and ``llvm_expr`` (expressions),
``llvm_loops``, ``llvm_threads`` and ``llvm_kernel`` (kernels), ``llvm_library``, ``llvm_cost``,
``llvm_lines`` (which line of a loop nest an instruction computes), ``emit_llvm`` (programs).

Decisions. *Pull*: a kernel is made by asking for one element of its result; producers answer with
expressions of their operands' elements, so slices, pads, broadcasts and gathers are index maps
and cost no memory. Expressions are hash-consed, so sharing needs no bookkeeping until
``schedule``. *Backwards*: fusion visits readers before producers, because whether a value needs
memory depends on who reads it. *Heights instead of path searches*: a group's height is its
distance from the results; groups of equal height cannot depend on each other, which keeps merging
linear in time and free of cycles. *Cutting instead of masking*: where a pad or a concatenate
compares an index, the loop is cut there, so that no piece has a condition inside. *Every boundary
has a reason* (``FusionBarrier``), shown to users as it is. *State in memory*: a loop's carry is a
buffer; copies go where nobody reads the old value any more.
Rejected: a cost model that tries plans (slow to compile, hard to explain), and one loop per
equation merged afterwards (index maps would need their own rewriting).
"""
