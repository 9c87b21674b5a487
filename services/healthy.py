"""`python -m services.healthy [ROLE]`: exit with 0 if the service of this container is well, for its health check.

ROLE is what the container runs, by default the argument of its first process: `match` is asked over gRPC, any other
role for its metrics. A match service that speaks TLS is asked for its metrics, too: its certificate is for the name by
which clients know it, and it may want one of whoever asks. Ports come from the same settings as the service's.
"""

import sys
import urllib.request
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from services.settings import Settings, load

TIMEOUT_S = 3.0


def healthy(settings: Settings, role: str) -> bool:
    """Return whether the service of a role on this machine says that it is well, within three seconds."""
    if role != "match":
        return _shows(settings, b"croupier_")
    return (
        _serves(settings.grpc_port) if settings.grpc_tls_cert is None else _shows(settings, b"\ncroupier_serving 1.0\n")
    )


def _serves(port: int) -> bool:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        try:
            stub = health_pb2_grpc.HealthStub(channel)
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S)  # type: ignore[attr-defined]  # its stubs lack it
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def _shows(settings: Settings, text: bytes) -> bool:
    if settings.metrics_port is None:
        return False
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{settings.metrics_port}/metrics", timeout=TIMEOUT_S) as response:
            return text in response.read()
    except OSError:
        return False


def _role() -> str:
    """Return the word behind `croupier` in the command of the container's first process."""
    words = Path("/proc/1/cmdline").read_bytes().split(b"\0")
    return next((words[at + 1].decode() for at, word in enumerate(words[:-1]) if word.endswith(b"/croupier")), "")


if __name__ == "__main__":
    sys.exit(0 if healthy(load(), sys.argv[1] if len(sys.argv) > 1 else _role()) else 1)
