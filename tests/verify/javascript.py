"""The JavaScript verifier, asked from Python: one Node process for many journals."""

import base64
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
VERIFIER = FOLDER.parents[1] / "verify" / "verify.js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no `node` on this machine; CI installs it")


def ask(questions: Sequence[dict[str, Any]]) -> list[Any]:
    """Return what batch.js answers to each question."""
    given = json.dumps(questions).encode()
    done = subprocess.run([NODE, FOLDER / "batch.js"], input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def verdicts(journals: Sequence[Sequence[bytes]], **anchors: str) -> list[Any]:
    """Return the verdict on each journal, given as its lines."""
    return ask(
        [
            {"journal": base64.b64encode(b"".join(line + b"\n" for line in lines)).decode(), **anchors}
            for lines in journals
        ]
    )
