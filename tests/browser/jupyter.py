"""A Jupyter server of its own. In: a front end and notebooks. Out: its address and token.

Every folder it uses is temporary, so nothing of the user's configuration is read or changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.check import environment

_SETTINGS = {
    # All cells stay in the document, even those that are not seen.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
#: With these JupyterLab stores widgets in the notebook, which it does not by itself.
_STATE = {"@jupyter-widgets/jupyterlab-manager/plugin": {"saveState": True}}
_START_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: notebooks are files in ``root``."""

    address: str
    token: str
    root: Path
    kind: str

    def url(self, name: str) -> str:
        """Return the address of a notebook in this front end."""
        # A workspace each, or Lab would also open the notebooks of the page before.
        workspace = f"lab/workspaces/{name.removesuffix('.ipynb')}/tree"
        folder = {"lab": workspace, "notebook": "notebooks"}[self.kind]
        return f"{self.address}/{folder}/{name}"

    @property
    def headers(self) -> dict[str, str]:
        """What a request must carry."""
        return {"Authorization": f"token {self.token}"}

    def api(self, path: str, method: str = "GET") -> Any:
        """Return the answer of the server's REST interface."""
        request = urllib.request.Request(
            f"{self.address}/api/{path}", method=method, headers=self.headers
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None


@contextlib.contextmanager
def jupyter(kind: str, folder: Path) -> Iterator[Server]:
    """Run JupyterLab ("lab") or Notebook 7 ("notebook") in ``folder``."""
    root = folder / "root"
    root.mkdir(exist_ok=True)
    settings = _SETTINGS | (_STATE if kind == "lab" else {})
    for name, value in settings.items():
        file = folder / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
    _write_kernel(folder / "data" / "kernels" / "python3")
    token = secrets.token_hex(16)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        {"lab": "jupyterlab", "notebook": "notebook"}[kind],
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={root}",
        "--ServerApp.allow_root=True",
        "--ServerApp.terminals_enabled=False",
        "--LabApp.news_url=None",
        "--expose-app-in-browser",
        "--ServerApp.log_level=ERROR",
    ]
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=_environment(folder), stdout=out, stderr=out, start_new_session=True
        )
    server = Server(f"http://127.0.0.1:{port}", token, root, kind)
    try:
        _wait(server, process, log)
        yield server
    finally:
        with contextlib.suppress(OSError):
            server.api("shutdown", "POST")
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)


def _write_kernel(folder: Path) -> None:
    """Write the kernel that runs this Python."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "Python 3", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))


def _environment(folder: Path) -> dict[str, str]:
    folders = {
        "HOME": "home",
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    for name in folders.values():
        (folder / name).mkdir(exist_ok=True)
    own = {key: str(folder / name) for key, name in folders.items()}
    return environment() | own | {"JUPYTER_PREFER_ENV_PATH": "0", "JUPYTER_PLATFORM_DIRS": "1"}


def _wait(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    stop = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < stop:
        assert process.poll() is None, log.read_text()[-3000:]
        with contextlib.suppress(OSError):
            server.api("status")
            return
        time.sleep(0.1)
    raise AssertionError(f"no server after {_START_LIMIT_S:g} s:\n{log.read_text()[-3000:]}")
