"""Jobs on a Ray cluster: the same function over the same parts, on other machines.

Every node needs this version of Croupier installed, and access to the archive.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from services.jobs import Pool, Submit
from services.journal_parts import Part
from services.processes import cores

R = TypeVar("R")
LOCAL = "local"


class RayMissing(RuntimeError):
    """Ray is not installed."""


def on_ray(address: str) -> Pool:
    """Return a pool of all CPUs of the cluster at `address` (`auto`: the one that this machine belongs to).

    `local` starts one on this machine, which ends with the job. Raises RayMissing, ConnectionError.
    """
    try:
        ray: Any = import_module("ray")  # an extra, which need not be there for its types either
    except ImportError:
        raise RayMissing("--ray needs Ray: pip install 'croupier-server[ray]'") from None
    where: dict[str, Any] = {"num_cpus": cores()} if address == LOCAL else {"address": address}
    ray.init(**where, log_to_driver=False, include_dashboard=False, logging_level="ERROR")
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    remote = ray.remote(num_cpus=1)(_do)

    def submit(do: Callable[[Part], list[R]], part: Part) -> Callable[[], list[R]]:
        reference = remote.remote(do, part)
        return lambda: list(ray.get(reference))

    @contextmanager
    def start() -> Iterator[Submit]:
        try:
            yield submit
        finally:
            ray.shutdown()

    return Pool(max(workers, 2), start)


def _do(do: Callable[[Part], list[R]], part: Part) -> list[R]:
    return do(part)
