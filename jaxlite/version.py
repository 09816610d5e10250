"""The version of jaxlite. The build reads it from here, so that it is written once."""

__version__ = "0.1.0"

__all__ = ["__version__"]
