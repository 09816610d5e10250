"""``jaxlite.sharding`` and ``typeof``: what libraries ask of an array on one device."""

from __future__ import annotations

import functools
import pickle

import jax
import numpy as np
import pytest

import jaxlite
from tests.nn.oracle import outcome

pytestmark = pytest.mark.jax_oracle


def test_an_array_says_that_it_is_on_one_device() -> None:
    for lib in (jaxlite, jax):
        x = lib.device_put(np.ones((2, 3)), lib.devices("cpu")[0])
        s = x.sharding
        assert isinstance(s, lib.sharding.SingleDeviceSharding)
        assert isinstance(s, lib.sharding.Sharding)
        assert repr(s) == "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)"
        assert s.device_set == s.addressable_devices == {x.device}
        assert (s.num_devices, s.is_fully_replicated, s.is_fully_addressable) == (1, True, True)
        assert s.shard_shape((2, 3)) == (2, 3)
        assert s.devices_indices_map((2, 3)) == {x.device: (slice(None), slice(None))}
        assert s.is_equivalent_to(x.sharding, 2)
        assert lib.device_put(x, s).sharding == s


def test_partition_specs_are_tuples_and_meshes_cannot_be_made() -> None:
    for lib in (jaxlite, jax):
        spec = lib.sharding.PartitionSpec("rows", None, ("a", "b"))
        assert repr(spec) == "P('rows', None, ('a', 'b'))"
        assert tuple(spec) == ("rows", None, ("a", "b"))
        assert pickle.loads(pickle.dumps(spec)) == spec
    assert not isinstance(jaxlite.numpy.ones(2).sharding, jaxlite.sharding.NamedSharding)
    with pytest.raises(NotImplementedError, match=r"sharding.Mesh is left out on purpose"):
        jaxlite.sharding.Mesh([], "x")
    with pytest.raises(AttributeError, match=r"sharding.AxisType is left out on purpose"):
        jaxlite.sharding.AxisType  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        jaxlite.sharding.nothing  # noqa: B018


def test_typeof_is_the_type_that_a_jaxpr_shows() -> None:
    for value in (1.0, True, np.ones((2, 3)), np.int8(3), [1], "a"):
        ours, theirs = (outcome(functools.partial(lib.typeof, value)) for lib in (jaxlite, jax))
        if isinstance(theirs, Exception):
            assert str(ours).startswith("Argument")
            assert type(ours) is type(theirs)
        else:
            assert repr(ours) == repr(theirs)
    assert jaxlite.typeof(jaxlite.numpy.ones(3)).sharding is None
