import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from jaxlite.cli.notebooks import TOUR
from tests.check import environment

START = "-m jaxlite lab --no-open --to mine -- --allow-root --port=0 --ServerApp.token=t"


@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_lab_serves_a_copy_of_the_notebooks_until_stopped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        log.open("w") as output,
        subprocess.Popen(
            [sys.executable, *START.split()],
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            port = wait_for_port(log, process)
            address = f"http://127.0.0.1:{port}/api/contents/?token=t"
            with urllib.request.urlopen(address, timeout=20) as response:
                names = [entry["name"] for entry in json.load(response)["content"]]
        finally:
            with contextlib.suppress(ProcessLookupError):  # it may have failed to start
                os.killpg(process.pid, signal.SIGTERM)
    assert TOUR in names
    assert (tmp_path / "mine" / TOUR).is_file()


def wait_for_port(log: Path, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"http://(?:localhost|127\.0\.0\.1):(\d+)/lab", log.read_text()):
            return found[1]
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()}")
