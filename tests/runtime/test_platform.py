"""What the host's description says is true on this host."""

import ctypes

import numpy as np

from jaxlite.runtime import platform
from jaxlite.runtime.cpu import host_target


def test_offsets_are_verified_on_real_objects() -> None:
    items = (object(), object())
    offset = platform.tuple_items_offset()
    assert offset > 0
    assert ctypes.c_void_p.from_address(id(items) + offset + 8).value == id(items[1])
    array = np.arange(5)[2:]
    offset = platform.array_data_offset()
    assert offset > 0
    assert ctypes.c_void_p.from_address(id(array) + offset).value == array.ctypes.data


def test_vector_width_needs_all_parts_of_avx512() -> None:
    parts = dict.fromkeys(("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx2"), True)
    assert platform.vector_bits(parts) == 512
    assert platform.vector_bits({**parts, "avx512dq": False}) == 256
    assert platform.vector_bits({"avx": True}) == 128
    assert platform.vector_bits({}) == 128


def test_vector_math_needs_the_library() -> None:
    known = {512: "edb", 256: "db", 128: "b"}
    expected = known if platform.vector_math_library() else dict.fromkeys(known, "")
    assert {bits: platform.vector_math(bits) for bits in known} == expected


def test_the_host_target_is_consistent() -> None:
    target = host_target()
    assert target.vector_bits in (128, 256, 512)
    assert target.reads_python_objects
    assert target.llvm_version >= 14
