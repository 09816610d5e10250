"""jaxlite: JAX's programming model (NumPy code, traced.

``grad``, ``vmap``, ``jit``) that you can see into.

    import jaxlite as jax, jaxlite.numpy as jnp

One call goes through seven stages: 1 call, 2 trace, 3 jaxpr, 4 optimise, 5 fuse, 6 emit, 7 run.
Every stage is a pure function from one readable data type to the next; ``READING_ORDER`` says where
each one is. Folders are
layers, lowest first: errors, settings and events; ``language`` (what a traced program is made of);
``kernel_ir`` (what a generated kernel is made of); ``primitives`` (operations with all their
rules); ``transforms``, ``compiler`` and ``runtime``; ``pipeline`` (the spine); ``higher_order``
(calls and loops); ``stages``; ``diagnose``; ``api``; and the public namespaces ``numpy``, ``lax``,
``nn``, ``random``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jaxlite import (
    custom_batching,
    custom_derivatives,
    debug,
    dtypes,
    errors,
    events,
    lax,
    numpy,
    stages,
    tree,
    tree_util,
)
from jaxlite.api.as_jax import install_as_jax
from jaxlite.api.callbacks import effects_barrier, pure_callback
from jaxlite.api.checkpoint import checkpoint, checkpoint_policies, remat
from jaxlite.api.closures import closure_convert
from jaxlite.api.custom_derivatives import custom_gradient, custom_jvp, custom_vjp
from jaxlite.api.device import (
    block_until_ready,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    live_arrays,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from jaxlite.api.grad import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
from jaxlite.api.jacobian import hessian, jacfwd, jacobian, jacrev
from jaxlite.api.jit import jit
from jaxlite.api.jit_cache import clear_caches as _clear_jit_caches
from jaxlite.api.make_jaxpr import eval_shape, make_jaxpr, typeof
from jaxlite.api.names import named_call, named_scope
from jaxlite.api.vmap import vmap
from jaxlite.diagnose.tracebacks import install_hook as _install_hook
from jaxlite.higher_order.compiled_call import clear_compiled as _clear_compiled
from jaxlite.higher_order.jit import clear_derived as _clear_derived
from jaxlite.language import pretty as _pretty  # noqa: F401 - registers the printers of jaxprs
from jaxlite.language.array import Array
from jaxlite.language.avals import ShapeDtypeStruct
from jaxlite.language.device import Device
from jaxlite.language.dtypes import float0
from jaxlite.not_planned import NOT_PLANNED as _NOT_PLANNED
from jaxlite.runtime.array import clear_predictions as _clear_predictions
from jaxlite.settings import (
    check_tracer_leaks,
    checking_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    softmax_custom_jvp,
    threefry_partitionable,
)
from jaxlite.version import __version__

if TYPE_CHECKING:
    from jaxlite import (
        experimental,
        flatten_util,
        image,
        nn,
        ops,
        random,
        sharding,
        teach,
        test_util,
        typing,
    )
    from jaxlite.diagnose.guards import no_recompile, watch
    from jaxlite.diagnose.padding import bucket, pad_batch
    from jaxlite.diagnose.progress import progress

#: Where each stage is, as "path:name", in the order in which to read the code for the first time.
READING_ORDER = (
    "api/jit.py:jit",
    "transforms/stage_out.py:stage_out",
    "language/primitive.py:Primitive",
    "language/jaxpr.py:Jaxpr",
    "pipeline.py:compile_jaxpr",
    "compiler/optimise.py:optimise",
    "compiler/fuse.py:fuse",
    "compiler/lower.py:lower",
    "compiler/emit_llvm.py:emit_llvm",
    "runtime/launch.py:Executable",
    "primitives/arithmetic.py:Mul",
    "api/grad.py:grad",
    "transforms/linearize.py:linearize_flat",
    "transforms/jvp.py:jvp_flat",
    "transforms/transpose.py:backward_pass",
    "transforms/vmap.py:batch_flat",
    "diagnose/why_recompiled.py:why_recompiled",
    "diagnose/gradient.py:trace_gradient",
)

#: Submodules that are loaded when somebody first uses them, to keep the import short.
_LATER = (
    *("experimental", "flatten_util", "image", "nn", "ops", "random", "scipy", "test_util"),
    *("sharding", "teach", "typing"),
)

#: Names that live in the notebook extension: reached on first use, so that the engine never imports
#: it.
_VIEWS = {
    "axes": "jaxlite_ipython.views",
    "grad_graph": "jaxlite_ipython.views",
    "shapes": "jaxlite_ipython.views",
    "trace": "jaxlite_ipython.views",
    "vmap_view": "jaxlite_ipython.views",
    "kernels": "jaxlite_ipython.views",
    "step": "jaxlite_ipython.views",
    "why_recompiled": "jaxlite_ipython.views",
}

#: Names of the recompilation debugger: reached on first use, too.
_DEBUGGER = {
    "bucket": "jaxlite.diagnose.padding",
    "no_recompile": "jaxlite.diagnose.guards",
    "pad_batch": "jaxlite.diagnose.padding",
    "progress": "jaxlite.diagnose.progress",
    "watch": "jaxlite.diagnose.guards",
}

__all__ = [
    "READING_ORDER",
    "Array",
    "Device",
    "ShapeDtypeStruct",
    "__version__",
    "block_until_ready",
    "bucket",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "dtypes",
    "effects_barrier",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "errors",
    "eval_shape",
    "events",
    "experimental",
    "explain_cache_misses",
    "flatten_util",
    "float0",
    "grad",
    "hessian",
    "image",
    "install_as_jax",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "legacy_prng_key",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_jaxpr",
    "named_call",
    "named_scope",
    "nn",
    "no_execution",
    "no_recompile",
    "no_tracing",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "pad_batch",
    "process_count",
    "process_index",
    "progress",
    "pure_callback",
    "random",
    "remat",
    "scipy",
    "sharding",
    "softmax_custom_jvp",
    "stages",
    "teach",
    "test_util",
    "threefry_partitionable",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
    "watch",
    "why_recompiled",
]


def clear_caches() -> None:
    """Forget everything compiled or traced so far."""
    _clear_jit_caches()
    _clear_derived()
    _clear_compiled()
    _clear_predictions()


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"jaxlite.{name}")
    if name in _DEBUGGER:
        return getattr(importlib.import_module(_DEBUGGER[name]), name)
    if name in _VIEWS:
        try:
            module = importlib.import_module(_VIEWS[name])
        except ImportError as error:
            raise AttributeError(
                f"jaxlite.{name} is part of the notebook extension, which cannot be imported: "
                f"{error}"
            ) from error
        return getattr(module, name)
    if name in _NOT_PLANNED:
        raise AttributeError(f"jaxlite.{name} is left out on purpose: {_NOT_PLANNED[name]}")
    raise AttributeError(f"module 'jaxlite' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Load the notebook extension (``%load_ext jaxlite``)."""
    importlib.import_module("jaxlite_ipython").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove the notebook extension (``%unload_ext jaxlite``)."""
    importlib.import_module("jaxlite_ipython").unload_ipython_extension(shell)


_install_hook()
