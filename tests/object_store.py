"""An object store that speaks S3 (moto's server), in a process of its own on a free port of the loopback."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

SERVE = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
"""It ends when whoever started it does."""


class ObjectStore:
    """A running store; `environment` is what tells programs where it is and who they are."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert process.stdout is not None
        self.environment: Mapping[str, str] = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{int(process.stdout.readline())}",
            "AWS_ACCESS_KEY_ID": "croupier",
            "AWS_SECRET_ACCESS_KEY": "croupier",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",
        }

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        try:
            yield ObjectStore(process)
        finally:
            process.kill()
