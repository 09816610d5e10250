"""The first-order primitives: every operation that a traced program is made of, with all its rules.

One class per primitive; the rules are its methods (``language/primitive.py`` is their contract), so
adding an operation is one class and one function. Families supply what their members share.

Files, in reading order: ``families`` (bases, batching helpers, ``ops``), ``arithmetic``,
``elementwise`` (exponentials, logarithms, roots), ``trigonometric``, ``comparison``, ``bitwise``,
``rounding``, ``complex``, ``convert``, ``select``, ``identity``; ``special`` with the numerics of
``incomplete``, ``slope`` and ``single_rounding``; ``shape``, ``joining``, ``slicing``,
``indexing``, ``gather``, ``scatter``; ``reduction``, ``argreduce``, ``cumulative``; ``dot``,
``sort``, ``random_bits``; ``slide`` and ``composite`` with what is made of them, ``patches``,
``convolution`` and ``windows``.

Decisions.

* Strict: operands have equal shapes and dtypes, so no transpose has to guess what was broadcast.
  The one exception is a scalar beside arrays: ``x + 1`` is one equation with a literal, as in JAX.
  ``NaryElementwise`` deals with it for all members. ``lax`` and ``numpy`` broadcast and promote.
* ``impl`` is eager evaluation, the host step of compiled programs and the oracle of the kernels, so
  it fixes dtypes and XLA's corner cases (total integer division, saturating conversions) itself.
* ``lower`` gives one scalar of kernel IR; loops belong to the compiler. Without it (or where
  ``can_lower`` says no: most complex functions) the compiler calls ``impl`` on the host.
* Derivatives equal JAX's also where there is none: ties of ``max`` share, ``abs`` has slope 1 at 0.
* A rule that cannot exist is written down with its reason; ``tests/primitives/test_rule_table.py``
  walks all classes and fails on an empty cell. Rejected: rule tables by primitive in each
  transformation (a forgotten entry shows only when somebody needs it).
"""
