"""The language: what a traced program is made of. Stage 3 of 7 (``jaxpr``) and what it stands on.

Files, in reading order: ``dtypes`` (types and promotion), ``avals`` (abstract values), ``pytree``
(nested containers), ``array`` (concrete values), ``source`` (the user's lines), ``jaxpr``
(programs), ``primitive`` (operations and their rules), ``trace`` (who interprets an operation now),
``pretty`` (jaxprs as text), ``check`` (is a jaxpr well formed?).

Decisions. One interpreter is current at a time (thread-local); a transformation makes its own
current, runs the user's function, and each of its rules runs under the interpreter below. So an
operation on constants inside ``jit`` is recorded too, as in JAX, and nobody has to search arguments
for the highest level. A value that outlives its interpreter says so when it is used.
"""
