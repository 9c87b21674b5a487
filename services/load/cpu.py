"""CPU time of processes on this machine, where the system tells it in `/proc`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


class Processes:
    """Groups of processes by name."""

    def __init__(self, pids: Mapping[str, Sequence[int]]) -> None:
        """Know them by their ids."""
        self._pids = {name: tuple(group) for name, group in pids.items()}

    def read(self) -> dict[str, float]:
        """Return the CPU seconds that each group has used; without those that cannot be read."""
        found = {name: [cpu_of(pid) for pid in group] for name, group in self._pids.items()}
        return {name: sum(times) for name, times in found.items() if None not in times}  # type: ignore[arg-type]


def cpu_of(pid: int) -> float | None:
    """Return the CPU seconds that a process has used, None if it is not there or the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
