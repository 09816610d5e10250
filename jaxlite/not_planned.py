"""What of JAX is left out on purpose: name -> reason. Touching such a name says the reason."""

__all__ = ["NOT_PLANNED"]

_HOSTS = "jaxlite runs in one process on one machine"
_SHARDING = "jaxlite computes on one device at a time; there is no sharding"
_XLA = "jaxlite has a compiler of its own and no XLA inside"
_CUDNN = "JAX has it for cuDNN only; jaxlite.lax.scaled_dot multiplies scaled blocks anywhere"
_PARTS = "what this primitive of JAX's does is several primitives here"
_REFS = "jaxlite's arrays are immutable; there are no mutable references"

#: Names of ``jax`` (also of its submodules) and why ``jaxlite`` has none of that name.
NOT_PLANNED: dict[str, str] = {
    **dict.fromkeys(
        (
            "distributed",
            "host_count",
            "host_id",
            "host_ids",
            "make_array_from_process_local_data",
            "process_indices",
        ),
        _HOSTS,
    ),
    **dict.fromkeys(
        (
            "NamedSharding",
            "P",
            "Shard",
            "make_array_from_callback",
            "make_array_from_single_device_arrays",
            "make_mesh",
            "pcast",
            "pmap",
            "precv",
            "psend",
            *("ragged_all_to_all", "ragged_all_to_all_p", "sharding_constraint_p"),
            "remove_size_one_mesh_axis_from_type",
            "reshard",
            *("AbstractDevice", "AxisType", "ManualAxisType", "auto_axes", "explicit_axes"),
            *("get_abstract_mesh", "get_mesh", "make_single_device_sharding", "use_abstract_mesh"),
            "set_mesh",
            "shard_map",
            "smap",
            "with_sharding_constraint",
        ),
        _SHARDING,
    ),
    **dict.fromkeys(
        (
            *("after_all", "after_all_p", "create_token", "create_token_p"),
            "export",
            "ffi",
            "interpreters",
            "lib",
            "memory",
            "monitoring",
        ),
        _XLA,
    ),
    **dict.fromkeys(
        ("get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"), _CUDNN
    ),
    **dict.fromkeys(
        (
            *("approx_top_k_p", "dce_sink_p", "device_put_p", "reduce_p", "reduce_window_p"),
            *("random_gamma_p", "rng_uniform_p", "select_and_scatter_p", "stack_p", "stage_p"),
            "unstack_p",
        ),
        _PARTS,
    ),
    **dict.fromkeys(("Ref", "empty_ref", "free_ref", "freeze", "new_ref", "ref"), _REFS),
}
