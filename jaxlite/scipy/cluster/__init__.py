"""``jaxlite.scipy.cluster``: vector quantisation (``vq``)."""

from jaxlite.scipy.cluster import vq

__all__ = ["vq"]
