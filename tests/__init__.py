"""Tests of jaxlite, in folders that mirror the package; quick run: ``python -m tests.check``."""
