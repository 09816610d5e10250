"""Numbers as operands."""

from __future__ import annotations

import numpy as np

from jaxlite.lax.operands import constant


def test_constants_that_are_equal_keys_are_not_shared() -> None:
    """Zeros of either sign and of either kind are one key of a dictionary."""
    zeros = [0, 0.0, -0.0, 0j, complex(0, -0.0), np.complex64(0), np.float32(-0.0)]
    for dtype in (np.float32, np.complex64):
        dt = np.dtype(dtype)
        for value in zeros * 2:
            if isinstance(value, complex | np.complexfloating) and dt.kind != "c":
                continue
            found = np.asarray(constant(value, dt))
            assert found.tobytes() == np.array(value, dt).tobytes(), (value, dt)
