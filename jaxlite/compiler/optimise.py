"""stub"""
from jaxlite.language.jaxpr import ClosedJaxpr
def optimise(closed: ClosedJaxpr) -> ClosedJaxpr:
    return closed
