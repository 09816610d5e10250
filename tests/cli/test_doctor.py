import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import jaxlite
from jaxlite.cli import doctor, parts
from jaxlite.cli.main import main
from jaxlite.runtime import cuda, disk_cache
from jaxlite.settings import override
from jaxlite.version import __version__

Hide = Callable[..., None]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Hide:
    """``hide("cupy")``: the module cannot be found."""

    def apply(*gone: str) -> None:
        real = parts.importlib.util.find_spec
        known = set(gone)

        def find_spec(name: str) -> object:
            if name in known:
                return None
            return real(name)

        monkeypatch.setattr(parts.importlib.util, "find_spec", find_spec)

    return apply


def test_a_healthy_machine_exits_with_0_and_shows_versions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"jaxlite {__version__}, Python {sys.version.split()[0]} ")
    lines = {tuple(line.split()[:2]) for line in printed.splitlines() if line.startswith("  ")}
    assert {("cpu", "yes"), ("llvmlite", "yes"), ("numpy", "yes"), ("jupyterlab", "yes")} <= lines


@pytest.mark.parametrize(
    ("jit", "reason"),
    [
        (lambda f: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda f: lambda x: 8.0, "compiled code gave 8.0 for 3 * 2 + 1"),
    ],
)
def test_a_broken_compiler_is_a_finding_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    jit: Callable[..., object],
    reason: str,
) -> None:
    monkeypatch.setattr(jaxlite, "jit", jit)
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert f"cpu   no  {reason}\n" in captured.out
    assert "  Fix: pip install " in captured.out
    assert "Traceback" not in captured.out + captured.err


def test_missing_parts_come_with_the_command_that_mends_them(
    hide: Hide, capsys: pytest.CaptureFixture[str]
) -> None:
    hide("matplotlib", "anywidget")
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "missing; curves in the notebooks" in printed
    assert f"  Fix: {parts.PARTS['matplotlib'].mend}\n" in printed
    assert "  Fix: pip install anywidget\n" in printed


def test_cuda_reasons_come_in_the_order_in_which_things_are_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    finding = doctor.check_cuda()
    assert not finding.ok
    assert finding.fact.startswith("CuPy cannot be imported (")
    assert "jaxlite[cuda12]" in finding.mend

    class CudaError(RuntimeError):
        status = 35

    def fail() -> int:
        raise CudaError("cudaErrorInsufficientDriver: too old\nmore")

    gpu = SimpleNamespace(
        CUDARuntimeError=CudaError,
        getDeviceCount=fail,
        getDeviceProperties=lambda i: {"name": b"H200"},
    )
    fake = SimpleNamespace(cuda=SimpleNamespace(runtime=gpu))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    assert doctor.check_cuda().fact.startswith("No NVIDIA driver was found, or it is too old")
    CudaError.status = 100
    assert doctor.check_cuda().fact == "The NVIDIA driver sees no GPU."
    gpu.getDeviceCount = lambda: 0
    assert doctor.check_cuda().fact == "The NVIDIA driver sees no GPU."
    gpu.getDeviceCount = lambda: 2
    cuda.array_module.cache_clear()
    try:
        assert doctor.check_cuda() == doctor.Finding("cuda", True, "H200, H200")
    finally:
        cuda.array_module.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.parametrize(
    ("mode", "verdict"), [(0o700, "0700, private"), (0o755, "0755, NOT private. Fix: chmod 700 ")]
)
def test_the_cache_folder_shows_its_size_and_who_may_read_it(
    tmp_path: Path, mode: int, verdict: str
) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a").write_bytes(b"x" * 2_500_000)
    (tmp_path / "kernels" / "b").write_bytes(b"")
    tmp_path.chmod(mode)
    rows = dict(doctor.describe_folder(tmp_path))
    assert rows["folder"] == str(tmp_path)
    assert rows["content"] == "2 files, 2.5 MB"
    assert rows["permission"].startswith(verdict)


def test_the_folder_shown_is_the_one_that_compiled_code_goes_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cache"
    with override(cache_dir=str(folder)):
        assert main(["doctor"]) == 0
        cache = disk_cache.current()
    assert cache is not None
    assert f"folder      {cache.folder}\n" in capsys.readouterr().out
    assert cache.folder == folder


def test_a_cache_that_is_off_is_said() -> None:
    with override(cache_dir="off"):
        assert doctor.cache_rows() == [
            ("folder", "off: compiled code lives as long as its process")
        ]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.filterwarnings("ignore:The compilation cache:RuntimeWarning")
def test_a_cache_that_others_can_write_is_not_used_and_the_command_mends_it(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with override(cache_dir=str(shared)):
        rows = dict(doctor.cache_rows())
    assert rows["permission"] == f"0777, NOT private. Fix: chmod 700 {shared}"
    assert rows["used"].startswith("no, ")
