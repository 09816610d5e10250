"""Benchmarks against other libraries: ``python -m tests.bench --peers jax``.

Not collected by pytest.
"""
