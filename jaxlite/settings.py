"""All settings of jaxlite. In: environment variables, at import. Out: ``config``, ``override``.

Reading is cheap on purpose: ``config`` is a ``threading.local`` whose ``frame`` is, for a thread
without overrides, one shared record; a ``with override(...)`` puts a copy in its place for this
thread only. Hot code reads ``config.frame.enable_x64`` (one thread-local read, one slot read).

The settings that change what a trace produces are also interned in one ``TraceKey`` per
combination of values, so the jit cache compares all of them by identity.

Names: attribute ``enable_x64``, JAX's option ``jax_enable_x64``, environment
``JAX_ENABLE_X64`` or ``JAXLITE_ENABLE_X64`` (the latter wins).
"""

import contextlib
import dataclasses
import operator
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

__all__ = [
    "Config",
    "TraceKey",
    "check_tracer_leaks",
    "checking_leaks",
    "config",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "explain_cache_misses",
    "legacy_prng_key",
    "log_compiles",
    "no_execution",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "override",
    "softmax_custom_jvp",
    "threefry_partitionable",
]

MATMUL_PRECISIONS: Final = (
    *("default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
    *("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY"),
    *("ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16"),
    *("BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9"),
    *("TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"),
)

_TRUE_WORDS: Final = frozenset({"y", "yes", "t", "true", "on", "1"})
_FALSE_WORDS: Final = frozenset({"n", "no", "f", "false", "off", "0"})


@dataclasses.dataclass(frozen=True)
class Option:
    """What is known about one setting besides its value."""

    kind: type  # bool, int, float, str, or object for "anything"
    optional: bool = False  # None is a value
    choices: tuple[str, ...] = ()
    traced: bool = False  # part of TraceKey
    aliases: tuple[str, ...] = ()  # further option names that JAX programs use
    env: tuple[str, ...] = ()  # further environment variables

    def check(self, name: str, value: Any) -> Any:
        """Return ``value`` as it will be stored; ValueError in JAX's words if it cannot be."""
        if self.choices:
            # An enum that JAX programs pass as an object has the word in ``.value``.
            word = getattr(value, "value", value)
            if (value is None and self.optional) or word in self.choices:
                return word
            none = "None or " if self.optional else ""
            raise ValueError(
                f"new enum value must be {none}in {list(self.choices)}, got {value} of type "
                f"{type(value)}.\n  Setting: jax_{name}."
            )
        if self.kind is bool:
            return (
                _parse_bool(value, f"setting jax_{name}") if isinstance(value, str) else bool(value)
            )
        if self.kind is object or (value is None and self.optional):
            return value
        accepted = (int, float) if self.kind is float else (self.kind,)
        if not isinstance(value, accepted) or isinstance(value, bool):
            label = {"str": "string"}.get(self.kind.__name__, self.kind.__name__)
            none = "None or " if self.optional else ""
            raise ValueError(
                f"new {label} config value must be {none}of type {self.kind.__name__}, "
                f"got {value} of type {type(value)}.\n  Setting: jax_{name}."
            )
        return value

    def parse(self, name: str, text: str, variable: str) -> Any:
        """Return the value that the environment variable's ``text`` stands for."""
        if self.kind is bool:
            return _parse_bool(text, f"environment {variable!r}")
        if self.optional and text in ("", "None"):
            return None
        try:
            return self.check(name, self.kind(text) if self.kind in (int, float) else text)
        except ValueError:
            raise ValueError(
                f'Invalid value "{text}" for JAX flag jax_{name}\n'
                f"  It comes from the environment variable {variable}."
            ) from None


def _parse_bool(text: str, where: str) -> bool:
    word = text.lower()
    if word in _TRUE_WORDS:
        return True
    if word in _FALSE_WORDS:
        return False
    raise ValueError(
        f"invalid truth value {text!r} for {where}\n  Fix: use one of true, false, 1, 0, on, off."
    )


def _option(default: Any, kind: type | None = None, **facts: Any) -> Any:
    option = Option(kind or (str if facts.get("choices") else type(default)), **facts)
    return dataclasses.field(default=default, metadata={"option": option})


@dataclasses.dataclass(slots=True, eq=False, weakref_slot=True)
class Frame:
    """One value for each setting: the shared record, or one thread's copy inside ``override``."""

    # What a trace means.
    enable_x64: bool = _option(False, traced=True)
    disable_jit: bool = _option(False, traced=True)
    debug_nans: bool = _option(False, traced=True)
    debug_infs: bool = _option(False, traced=True)
    numpy_rank_promotion: str = _option("allow", choices=("allow", "warn", "raise"), traced=True)
    explicit_x64_dtypes: str = _option("warn", choices=("warn", "error", "allow"), traced=True)
    numpy_dtype_promotion: str = _option("standard", choices=("standard", "strict"), traced=True)
    default_matmul_precision: str | None = _option(
        None, choices=MATMUL_PRECISIONS, optional=True, traced=True
    )
    default_prng_impl: str = _option(
        "threefry2x32", choices=("threefry2x32", "rbg", "unsafe_rbg"), traced=True
    )
    softmax_custom_jvp: bool = _option(False, traced=True)
    fuse: str = _option("auto", choices=("auto", "rows", "off"), traced=True)
    threefry_partitionable: bool = _option(True, traced=True)
    random_seed_offset: int | None = _option(0, optional=True, traced=True)
    enable_custom_prng: bool = _option(False, traced=True)
    legacy_prng_key: str = _option("allow", choices=("allow", "warn", "error"))
    # Where it runs.
    default_device: Any = _option(None, object, traced=True)  # noqa: RUF009 (every option is one)
    platforms: str | None = _option(None, str, optional=True, aliases=("platform_name",))
    num_threads: int | None = _option(None, int, optional=True)
    max_allocation_bytes: int | None = _option(None, int, optional=True)
    enable_compilation_cache: bool = _option(True)
    cache_dir: str | None = _option(None, str, optional=True, aliases=("compilation_cache_dir",))
    max_kernel_inputs: int = _option(64)
    # What is checked and said.
    check: bool = _option(False, aliases=("enable_checks",))
    check_tracer_leaks: bool = _option(False, traced=True)
    debug_key_reuse: bool = _option(False)
    guards: bool = _option(True)
    no_tracing: bool = _option(False)
    no_execution: bool = _option(False)
    stale_globals: str = _option("warn", choices=("warn", "ignore", "retrace", "error"))
    log_compiles: bool = _option(False)
    explain_cache_misses: bool = _option(False)
    captured_constants_warn_bytes: int = _option(2_000_000_000)
    dump: str = _option("", aliases=("dump_ir_modes",))
    dump_dir: str = _option("", aliases=("dump_ir_to",))
    traceback: str = _option("user", choices=("user", "full"))
    traceback_filtering: str = _option(
        "auto", choices=("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto")
    )
    pprint_use_color: bool = _option(True)
    dot: str | None = _option(None, str, optional=True, env=("GRAPHVIZ_DOT",))
    ascii: bool = _option(False)

    # Not settings: which names this frame pins, and the interned traced values.
    pinned: frozenset[str] = frozenset()
    trace_key: "TraceKey" = dataclasses.field(default=None)  # type: ignore[assignment]

    def refresh(self) -> None:
        """Recompute ``trace_key`` after a change."""
        self.trace_key = TraceKey.of(tuple(getattr(self, name) for name in TRACED))


OPTIONS: Final[Mapping[str, Option]] = {
    field.name: field.metadata["option"]
    for field in dataclasses.fields(Frame)
    if "option" in field.metadata
}
TRACED: Final = tuple(name for name, option in OPTIONS.items() if option.traced)
_NAMES: Final[Mapping[str, str]] = {
    alias: name
    for name, option in OPTIONS.items()
    for plain in (name, *option.aliases)
    for alias in (plain, f"jax_{plain}", f"jaxlite_{plain}")
}


class TraceKey:
    """The traced settings as one object: equal settings, same object. Compare with ``is``."""

    __slots__ = ("values",)
    _interned: "dict[tuple[Any, ...], TraceKey]" = {}  # noqa: RUF012
    values: tuple[Any, ...]

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> "TraceKey":
        """Return the one key for ``values`` (in the order of ``TRACED``)."""
        key = cls._interned.get(values)
        if key is None:
            key = cls()
            key.values = values
            key = cls._interned.setdefault(values, key)
        return key

    def as_dict(self) -> dict[str, Any]:
        """Return setting name to value, for messages about what differs between two keys."""
        return dict(zip(TRACED, self.values))

    def __repr__(self) -> str:
        changed = {n: v for n, v in self.as_dict().items() if v != _DEFAULTS[n]}
        return f"TraceKey({', '.join(f'{n}={v!r}' for n, v in changed.items())})"


_DEFAULTS: Final = {
    field.name: field.default for field in dataclasses.fields(Frame) if field.name in OPTIONS
}


def read_environment(environ: Mapping[str, str]) -> Frame:
    """Return the settings that ``environ`` asks for; ValueError names a bad variable."""
    frame = Frame()
    for name, option in OPTIONS.items():
        plain = [n.upper() for n in (name, *option.aliases)]
        variables = [*(f"JAXLITE_{n}" for n in plain), *(f"JAX_{n}" for n in plain), *option.env]
        for variable in variables:
            if variable in environ:
                setattr(frame, name, option.parse(name, environ[variable], variable))
                break
    frame.refresh()
    return frame


def _resolve(name: str) -> str:
    try:
        return _NAMES[name]
    except KeyError:
        raise AttributeError(f"Unrecognized config option: {name}") from None


_lock = threading.Lock()
_live_overrides: "weakref.WeakSet[Frame]" = weakref.WeakSet()


class Config(threading.local):
    """The settings object, public as ``jaxlite.config``.

    Example:
        >>> config.update("jax_log_compiles", True)
        >>> config.jax_log_compiles, config.log_compiles
        (True, True)
        >>> config.update("jax_log_compiles", False)
    """

    # A class attribute, so threads that override nothing all see this one record.
    frame: Frame = read_environment(os.environ)

    def update(self, name: str, value: Any) -> None:
        """Set option ``name`` for the whole process (threads inside ``override`` keep theirs).

        Raises:
            AttributeError: there is no such option.
            ValueError: the option does not accept ``value``.
        """
        name = _resolve(name)
        value = OPTIONS[name].check(name, value)
        with _lock:
            for frame in (Config.frame, *_live_overrides):
                if name not in frame.pinned:
                    setattr(frame, name, value)
                    frame.refresh()

    def read(self, name: str) -> Any:
        """Return the process-wide value of option ``name``, whatever this thread overrides."""
        return getattr(Config.frame, _resolve(name))

    def trace_key(self) -> TraceKey:
        """Return this thread's traced settings as one interned object."""
        return self.frame.trace_key

    @property
    def values(self) -> dict[str, Any]:
        """All options with JAX's names and their process-wide values."""
        return {f"jax_{name}": getattr(Config.frame, name) for name in OPTIONS}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are on in this thread."""
        return self.frame.enable_x64

    if TYPE_CHECKING:
        # Every option is a property, under its short name and JAX's; see below.
        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _NAMES:
            raise AttributeError(
                f"property of 'Config' object has no setter\n"
                f'  Fix: config.update("jax_{_NAMES[name]}", {value!r})'
            )
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        changed = {n: v for n, v in self.values.items() if v != _DEFAULTS[n.removeprefix("jax_")]}
        return f"Config({', '.join(f'{n}={v!r}' for n, v in changed.items())})"


for _alias, _name in _NAMES.items():
    setattr(Config, _alias, property(operator.attrgetter(f"frame.{_name}")))

config = Config()


class override(contextlib.ContextDecorator):
    """Give settings other values in this thread, as a ``with`` block or a decorator.

    Raises:
        AttributeError: an option does not exist.
        ValueError: an option does not accept its value.

    Example:
        >>> with override(enable_x64=True, debug_nans=True):
        ...     config.enable_x64
        True
        >>> config.debug_nans
        False
    """

    __slots__ = ("_previous", "_values")

    def __init__(self, **values: Any) -> None:
        checked = {_resolve(name): value for name, value in values.items()}
        self._values = {n: OPTIONS[n].check(n, v) for n, v in checked.items()}
        self._previous: list[Frame | None] = []

    def _recreate_cm(self) -> "override":
        return override(**self._values)  # a decorated function may run in several threads at once

    def __enter__(self) -> None:
        own = vars(config).get("frame")
        with _lock:
            frame = dataclasses.replace(config.frame, **self._values)
            frame.pinned |= self._values.keys()
            frame.refresh()
            _live_overrides.add(frame)
        self._previous.append(own)
        config.frame = frame

    def __exit__(self, *exc: object) -> None:
        previous = self._previous.pop()
        if previous is None:
            del config.frame  # back to the shared record
        else:
            config.frame = previous


def _switch(name: str, doc: str) -> Callable[..., override]:
    def switch(new_val: Any = True) -> override:
        return override(**{name: new_val})

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = f"Context manager: {doc} (``jax_{name}``) in this thread."
    return switch


def _choice(name: str, doc: str) -> Callable[[Any], override]:
    def choose(new_val: Any) -> override:
        return override(**{name: new_val})

    choose.__name__ = choose.__qualname__ = name
    choose.__doc__ = f"Context manager: {doc} (``jax_{name}``) in this thread."
    return choose


enable_x64 = _switch("enable_x64", "64-bit numbers on or off")
debug_nans = _switch("debug_nans", "raise where a NaN appears")
debug_infs = _switch("debug_infs", "raise where an infinity appears")
debug_key_reuse = _switch("debug_key_reuse", "check that no random key is used twice")
enable_checks = _switch("check", "run the internal checkers after every stage")
check_tracer_leaks = _switch("check_tracer_leaks", "find tracers that outlive their trace")
log_compiles = _switch("log_compiles", "log every compilation")
explain_cache_misses = _switch("explain_cache_misses", "log why a call was compiled again")
enable_custom_prng = _switch("enable_custom_prng", "new-style typed random keys by default")
softmax_custom_jvp = _switch("softmax_custom_jvp", "softmax with its own derivative rule")
threefry_partitionable = _switch("threefry_partitionable", "the layout of random bits")
no_tracing = _switch("no_tracing", "tracing is an error")
no_execution = _switch("no_execution", "execution is an error")
numpy_rank_promotion = _choice("numpy_rank_promotion", "what implicit rank promotion does")
numpy_dtype_promotion = _choice("numpy_dtype_promotion", "standard or strict dtype promotion")
default_matmul_precision = _choice("default_matmul_precision", "precision of matrix products")
default_device = _choice("default_device", "where new arrays go")
default_prng_impl = _choice("default_prng_impl", "implementation of random keys")
legacy_prng_key = _choice("legacy_prng_key", "what untyped random keys do")


def checking_leaks() -> override:
    """Context manager: find tracers that outlive their trace, in this thread."""
    return override(check_tracer_leaks=True)


def disable_jit(disable: bool = True) -> override:
    """Context manager: run jitted functions operation by operation, in this thread.

    Example:
        >>> with disable_jit():
        ...     config.disable_jit
        True
    """
    return override(disable_jit=disable)


def iter_options() -> Iterator[tuple[str, Option, Any]]:
    """Yield name, description and this thread's value of every setting."""
    for name, option in OPTIONS.items():
        yield name, option, getattr(config.frame, name)
