"""Settings: names, values, errors as in JAX; overrides belong to one thread; the trace key."""

import contextlib
import os
import subprocess
import sys
import threading

import pytest

from jaxlite import settings
from jaxlite.settings import config, override, read_environment

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax_oracle


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as e:
        return (type(e).__name__, str(e).split("\n")[0].rstrip("."))


@pytest.fixture(autouse=True)
def settings_come_back():
    before = {name: config.read(name) for name in settings.OPTIONS}
    yield
    for name, value in before.items():
        config.update(name, value)


def test_names_of_jax_and_short_names():
    for name in ("jax_enable_x64", "enable_x64", "jaxlite_enable_x64"):
        config.update(name, True)
        assert config.jax_enable_x64 is config.enable_x64 is config.x64_enabled is True
        assert config.read(name) is True
        config.update(name, False)
        assert config.jax_enable_x64 is False
    assert config.values["jax_enable_x64"] is False


def test_names_that_differ_from_jax():
    config.update("jax_compilation_cache_dir", "/somewhere")
    assert config.cache_dir == "/somewhere"
    config.update("jax_enable_checks", True)
    assert config.check is True
    config.update("jax_platform_name", "cpu")
    assert config.jax_platforms == "cpu"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_foo", 1),
        ("jax_numpy_rank_promotion", "zzz"),
        ("jax_default_matmul_precision", "zzz"),
        ("jax_random_seed_offset", "a"),
        ("jax_traceback_filtering", "zzz"),
        ("jax_compilation_cache_dir", 3),
        ("jax_compilation_cache_dir", None),
        ("jax_numpy_rank_promotion", "warn"),
        ("jax_default_matmul_precision", None),
        ("jax_default_matmul_precision", "float32"),
    ],
)
def test_update_accepts_and_refuses_as_jax(name, value):
    before = getattr(jax.config, name, None)
    expected = outcome(jax.config.update, name, value)
    if expected is None:
        jax.config.update(name, before)
    assert outcome(config.update, name, value) == expected
    if expected is None:
        assert config.read(name) == value


def test_truth_values():
    for value, expected in [(1, True), (0, False), (None, False), ("off", False), ("true", True)]:
        config.update("jax_debug_nans", value)
        assert config.debug_nans is expected
    with pytest.raises(ValueError, match="invalid truth value 'maybe'"):
        config.update("jax_debug_nans", "maybe")


def test_attributes_are_read_only_and_known():
    assert outcome(getattr, config, "jax_foo") == outcome(getattr, jax.config, "jax_foo")
    assert outcome(setattr, config, "jax_enable_x64", True) == outcome(
        setattr, jax.config, "jax_enable_x64", True
    )
    with pytest.raises(AttributeError, match=r'Fix: config.update\("jax_enable_x64", True\)'):
        config.enable_x64 = True
    assert outcome(config.read, "foo") == outcome(jax.config.read, "foo")


def test_enum_objects_of_jax_are_understood():
    config.update("jax_numpy_dtype_promotion", jax.config.jax_numpy_dtype_promotion)
    assert config.numpy_dtype_promotion == "standard"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enable_x64", True),
        ("debug_nans", True),
        ("debug_infs", True),
        ("numpy_rank_promotion", "raise"),
        ("numpy_dtype_promotion", "strict"),
        ("default_matmul_precision", "float32"),
        ("log_compiles", True),
        ("explain_cache_misses", True),
        ("check_tracer_leaks", True),
        ("softmax_custom_jvp", True),
        ("no_tracing", True),
        ("default_prng_impl", "threefry2x32"),
        ("legacy_prng_key", "error"),
        ("threefry_partitionable", False),
        ("enable_custom_prng", True),
        ("debug_key_reuse", True),
        ("no_execution", True),
    ],
)
def test_context_managers_of_jax(name, value):
    assert hasattr(jax, name)
    before = getattr(config, name)
    with getattr(settings, name)(value):
        assert getattr(config, name) == value
        assert config.read(name) == before  # the process-wide value is untouched
    assert getattr(config, name) == before


def test_context_managers_without_argument():
    with settings.enable_x64(), settings.checking_leaks(), settings.disable_jit():
        assert config.enable_x64
        assert config.check_tracer_leaks
        assert config.disable_jit
        with settings.disable_jit(False):
            assert not config.disable_jit
    with settings.enable_checks():
        assert config.check
    device = object()
    with settings.default_device(device):
        assert config.default_device is device


def test_bad_values_are_refused_before_entering():
    for ours, theirs in [
        (settings.numpy_rank_promotion, jax.numpy_rank_promotion),
        (settings.default_matmul_precision, jax.default_matmul_precision),
    ]:
        assert outcome(ours, "zz") == outcome(theirs, "zz")
    with pytest.raises(AttributeError, match="Unrecognized config option: foo"):
        override(foo=1)


def test_overrides_nest_and_survive_exceptions():
    with override(enable_x64=True):
        with contextlib.suppress(KeyError), override(enable_x64=False, debug_nans=True):
            assert (config.enable_x64, config.debug_nans) == (False, True)
            raise KeyError
        assert (config.enable_x64, config.debug_nans) == (True, False)
    assert config.frame is settings.Config.frame


def test_override_is_a_decorator_and_reentrant():
    @override(enable_x64=True)
    def f(n):
        assert config.enable_x64
        return f(n - 1) if n else config.enable_x64

    assert f(3) is True
    assert config.enable_x64 is False
    twice = override(debug_nans=True)
    with twice, twice:
        assert config.debug_nans
    assert not config.debug_nans


def test_overrides_belong_to_their_thread():
    seen = []
    with override(enable_x64=True):
        thread = threading.Thread(target=lambda: seen.append(config.enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]


def test_one_decorator_in_many_threads():
    inside = threading.Barrier(4)
    wrong = []

    @override(enable_x64=True)
    def f():
        inside.wait(10)
        wrong.append(not config.enable_x64)

    def work():
        f()
        wrong.append(config.enable_x64)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 8


def test_update_reaches_threads_inside_an_override():
    entered, updated, seen = threading.Event(), threading.Event(), []

    def work():
        with override(enable_x64=True):
            entered.set()
            updated.wait(10)
            seen.append((config.enable_x64, config.debug_nans, config.trace_key()))

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(10)
    config.update("jax_debug_nans", True)
    config.update("jax_enable_x64", False)
    updated.set()
    thread.join()
    [(x64, nans, key)] = seen
    assert (x64, nans) == (True, True)
    with override(enable_x64=True):
        assert config.trace_key() is key


def test_trace_key_is_one_object_per_combination():
    plain = config.trace_key()
    assert config.trace_key() is plain
    with override(enable_x64=True):
        x64 = config.trace_key()
        assert x64 is not plain
        with override(enable_x64=False):
            assert config.trace_key() is plain
    with override(enable_x64=True):
        assert config.trace_key() is x64
    config.update("jax_enable_x64", True)
    assert config.trace_key() is x64
    assert repr(x64) == "TraceKey(enable_x64=True)"
    assert x64.as_dict()["enable_x64"] is True
    with override(log_compiles=True, cache_dir="x"):
        assert config.trace_key() is x64  # these change no trace


def test_every_setting_that_changes_a_trace_changes_the_key():
    other = {
        bool: lambda v: not v,
        int: lambda v: v + 1,
        str: lambda v: next(c for c in settings.OPTIONS[name].choices if c != v),
        object: lambda v: "another device",
    }
    for name in settings.TRACED:
        if settings.OPTIONS[name].choices == ("threefry2x32",):
            continue  # there is only one
        value = other[settings.OPTIONS[name].kind](getattr(config, name))
        with override(**{name: value}):
            assert config.trace_key().as_dict()[name] == value
            assert config.trace_key() is not settings.Config.frame.trace_key


def test_environment():
    frame = read_environment({})
    assert frame.enable_x64 is False
    assert frame.stale_globals == "warn"
    frame = read_environment(
        {
            "JAX_ENABLE_X64": "true",
            "JAXLITE_NUM_THREADS": "3",
            "JAXLITE_CACHE_DIR": "off",
            "JAXLITE_DUMP": "jaxpr,kernel",
            "JAXLITE_CHECK": "1",
            "JAXLITE_DOT": "/usr/bin/dot",
            "JAX_NUMPY_RANK_PROMOTION": "raise",
            "JAX_DEFAULT_MATMUL_PRECISION": "",
        }
    )
    assert (frame.enable_x64, frame.num_threads, frame.cache_dir) == (True, 3, "off")
    assert (frame.dump, frame.check, frame.dot) == ("jaxpr,kernel", True, "/usr/bin/dot")
    assert (frame.numpy_rank_promotion, frame.default_matmul_precision) == ("raise", None)
    assert frame.trace_key.as_dict()["enable_x64"] is True
    both = read_environment({"JAX_ENABLE_X64": "1", "JAXLITE_ENABLE_X64": "0"})
    assert both.enable_x64 is False


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("JAX_ENABLE_X64", "hi", "invalid truth value 'hi' for environment 'JAX_ENABLE_X64'"),
        ("JAX_ENABLE_X64", "", "invalid truth value '' for environment 'JAX_ENABLE_X64'"),
        (
            "JAX_NUMPY_RANK_PROMOTION",
            "zz",
            'Invalid value "zz" for JAX flag jax_numpy_rank_promotion',
        ),
        ("JAXLITE_NUM_THREADS", "many", 'Invalid value "many" for JAX flag jax_num_threads'),
    ],
)
def test_bad_environment(variable, text, message):
    with pytest.raises(ValueError, match=variable) as caught:
        read_environment({variable: text})
    assert str(caught.value).split("\n")[0] == message


def test_environment_is_read_at_import():
    code = "from jaxlite.settings import config; print(config.enable_x64)"
    env = {**os.environ, "JAX_ENABLE_X64": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_repr_shows_what_differs_from_the_defaults():
    config.update("jax_debug_nans", True)
    assert "jax_debug_nans=True" in repr(config)
    assert {name for name, _, _ in settings.iter_options()} == set(settings.OPTIONS)
