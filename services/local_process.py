"""Child processes of this machine, each with a folder and a log, and Croupier's own services as such.

Everything a child leaves behind is inside the folder that it was given. A child is a session of its own, so that
Ctrl-C reaches only its parent, which then stops its children in order. On Linux the kernel kills a child whose parent
has died, however it died; elsewhere such a child stays, and keeps its folder locked.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Self

POLL_S = 0.01
LAST_LOG_LINES = 20
LOCK_WAIT_S = 2.0  # for a process that has been killed and is not quite gone

# Linux sends the signal when the *thread* that started the child ends, so all children are started by one thread that
# lives as long as the process.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="process-starter")

# Run by a bare interpreter that then becomes the child: `preexec_fn` would run Python between fork and exec, which can
# deadlock in a process that has threads, as every process with gRPC in it. 1 is PR_SET_PDEATHSIG, 9 is SIGKILL. It is
# scheduled as a batch job, where that is allowed: many processes share few cores here, and whoever wakes another would
# be interrupted by it in the middle of what it sends.
_DIE_WITH_PARENT = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None).prctl(1, 9)\n"
    "try: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n"
    "except OSError: pass\n"
    "os.getppid() == int(sys.argv[1]) and os.execv(sys.argv[2], sys.argv[2:])\n"
)


class LocalProcessError(Exception):
    """A process of this machine that is not as it should be."""


class StartError(LocalProcessError):
    """A process ended or stayed silent instead of becoming ready; the message ends with its last log lines."""


class FolderInUseError(LocalProcessError):
    """Another process of the same kind keeps its data in this folder."""


class LocalProcess(ABC):
    """One child process, its folder and its log file; a context manager that starts and stops it.

    Not for use by several threads at once, but from any thread.
    """

    def __init__(self, name: str, folder: Path, *, start_timeout_s: float) -> None:
        self.name = name
        self.folder = folder.absolute()
        self.log_path = self.folder / f"{name}.log"
        self.exit_code: int | None = None
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int:
        """The process id.

        Raises:
            LocalProcessError: it is not running.
        """
        if not self.running or self._process is None:
            raise LocalProcessError(f"{self.name} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process exists, be it paused. Once it has ended `exit_code` is its own, or minus the signal."""
        if self._process is not None and self._process.poll() is not None:
            self._bury(self._process)
        return self._process is not None

    def start(self) -> Self:
        """Start the process and return when it is ready; do nothing if it runs.

        Raises:
            StartError: it did not become ready; it does not run then.
            FolderInUseError: another one works in this folder.
            ServerNotFoundError: there is no program to start.
        """
        if not self.running:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._take_folder()
            try:
                self._start()
            except BaseException:
                self.kill()
                self._release_folder()
                raise
        return self

    def stop(self, grace_s: float = 10.0) -> None:
        """End the process in its own way (SIGTERM), by `kill` if that takes longer than `grace_s`; frees its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            _signal_group(self._process, signal.SIGCONT)  # a paused process sees no SIGTERM
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        self.kill()
        self._release_folder()

    def kill(self) -> None:
        """End the process and its children at once (SIGKILL), as a crash would; returns when it is gone."""
        if self._process is not None:
            if self._process.poll() is None:
                _signal_group(self._process, signal.SIGKILL)
                self._process.wait()
            self._bury(self._process)

    def restart(self) -> None:
        """Stop the process if it runs and start it on the same ports, with the same data; returns when it is ready."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze the process and its children (SIGSTOP) until `resume`; its connections stay open.

        On Linux it stands still on return: each of its threads may have had something to end first.
        """
        pid = self.pid
        os.killpg(pid, signal.SIGSTOP)
        if sys.platform == "linux":
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # what it is stays for `running` to see

    def resume(self) -> None:
        """Let a paused process go on (SIGCONT)."""
        os.killpg(self.pid, signal.SIGCONT)

    def last_log_lines(self) -> str:
        """Return the last lines of output since the last start."""
        lines = self._output_since_start().splitlines()
        return "\n".join(lines[-LAST_LOG_LINES:])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def _command(self) -> Sequence[str | Path]:
        """Return the program, by its absolute path, and its arguments."""

    @abstractmethod
    def _is_ready(self) -> bool:
        """Whether this very process can be used; asked again and again until it says so."""

    def _environment(self) -> Mapping[str, str]:
        # Redis and Valkey refuse to start under a locale that the machine does not have.
        return {**os.environ, "LC_ALL": "C"}

    def _start(self) -> None:
        self._spawn()
        deadline = time.monotonic() + self._start_timeout_s
        while not self._is_ready():
            if not self.running:
                raise self._failed(f"ended with exit code {self.exit_code} while starting")
            if time.monotonic() > deadline:
                raise self._failed(f"was not ready after {self._start_timeout_s:g} s")
            time.sleep(POLL_S)
        if not self.running:  # what was ready is somebody else's
            raise self._failed(f"ended with exit code {self.exit_code} while starting")

    def _spawn(self) -> None:
        command = [os.fspath(part) for part in self._command()]
        if sys.platform == "linux":
            command = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
        with self.log_path.open("ab") as log:
            self._log_start = log.tell()
            self._process = _starter.submit(
                subprocess.Popen,
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment(),
                start_new_session=True,
                pass_fds=[self._lock.fileno()] if self._lock else [],
            ).result()
        self.exit_code = None

    def _bury(self, process: subprocess.Popen[bytes]) -> None:
        """Note how the process ended and end what it left running in its group."""
        self._process = None
        self.exit_code = process.returncode
        _signal_group(process, signal.SIGKILL)

    def _failed(self, why: str) -> StartError:
        return StartError(f"{self.name} {why}; its last log lines in {self.log_path}:\n{self.last_log_lines()}")

    def _output_since_start(self) -> str:
        try:
            with self.log_path.open("rb") as log:
                log.seek(self._log_start)
                return log.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def _take_folder(self) -> None:
        """Lock the folder. The child inherits the lock, so that it holds for as long as either lives."""
        if self._lock is not None:
            return
        lock = (self.folder / f"{self.name}.lock").open("w")
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    lock.close()
                    raise FolderInUseError(f"another {self.name} works in {self.folder}") from None
                time.sleep(POLL_S)
            else:
                self._lock = lock
                return

    def _release_folder(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(
        ProcessLookupError, PermissionError
    ):  # macOS: no permission for a group of ended processes
        os.killpg(process.pid, number)


def says_ready(line: str) -> bool:
    """Whether a line of output is a JSON object whose `event` is `ready`, as the services print it."""
    try:
        document = json.loads(line)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("event") == "ready"


class ServiceProcess(LocalProcess):
    """One of Croupier's services in a process of its own; its output, both streams, goes to `data_dir/<name>.log`.

    Args:
        args: what follows `croupier` on a command line: `("engine",)`.
        data_dir: the folder; made if it is not there.
        name: of its log; must differ between processes of one folder. By default the first of `args`.
        env: variables set in addition to this process's own.
        ready: whether a line of its output says that it serves.
        entry: the interpreter's arguments before `args`.
        start_timeout_s: how long it may take to become ready.

    Attributes:
        ready_line: the line that said so; empty before.
    """

    def __init__(
        self,
        args: Sequence[str],
        data_dir: Path,
        *,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        ready: Callable[[str], bool] = says_ready,
        entry: Sequence[str] = ("-m", "services.cli"),
        start_timeout_s: float = 60.0,
    ) -> None:
        super().__init__(name or args[0], data_dir, start_timeout_s=start_timeout_s)
        self.args = tuple(args)
        self.env = dict(env or {})
        self.ready_line = ""
        self._ready = ready
        self._entry = tuple(entry)

    def _command(self) -> Sequence[str | Path]:
        self.ready_line = ""
        return [sys.executable, *self._entry, *self.args]

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, "PYTHONUNBUFFERED": "1", **self.env}

    def _is_ready(self) -> bool:
        complete, _, _ = self._output_since_start().rpartition("\n")
        self.ready_line = next(filter(self._ready, complete.splitlines()), "")
        return bool(self.ready_line)
