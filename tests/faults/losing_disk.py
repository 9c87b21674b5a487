"""A disk that loses power: what a process wrote, but has not synced, is gone.

A library, loaded before the C library's, notes how long a file was at its last sync; `lose` cuts it there. What the
system would do with names is left out: a file that was renamed stays so.
"""

import contextlib
import struct
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import redis

from services.local import RedisServer
from tests.faults.jumping_clock import compiler

_SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int synced(long call, int file) {
    const char *folder = getenv("CROUPIER_TEST_DISK");
    char path[4096];
    snprintf(path, sizeof path, "%s/busy", folder ? folder : "");
    while (folder && !access(path, F_OK)) usleep(1000);
    struct stat before;
    int unknown = fstat(file, &before);
    int failed = syscall(call, file);
    if (failed || unknown || !folder) return failed;
    snprintf(path, sizeof path, "%s/%llu", folder, (unsigned long long)before.st_ino);
    int note = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int64_t size = before.st_size;
    if (note < 0 || pwrite(note, &size, 8, 0) != 8) abort();
    close(note);
    return 0;
}

int fsync(int file) { return synced(SYS_fsync, file); }
int fdatasync(int file) { return synced(SYS_fdatasync, file); }
"""


class LosingDisk:
    """The disk of all processes that are started with its environment."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._notes = folder / "synced"
        self._notes.mkdir()
        self._library = folder / "disk.so"
        compiling = compiler()
        assert compiling is not None, "there is no C compiler"
        arguments = [compiling, "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", str(self._library)]
        subprocess.run(arguments, input=_SOURCE, text=True, check=True)

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "CROUPIER_TEST_DISK": str(self._notes)}

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Meanwhile no sync comes to its end."""
        mark = self._notes / "busy"
        mark.touch()
        try:
            yield
        finally:
            mark.unlink()

    def lose(self, folder: Path) -> int:
        """Cut the files of a folder to what was synced of them, their writer dead; return how many bytes went."""
        lost = 0
        for path in folder.iterdir():
            found = path.stat()
            note = self._notes / str(found.st_ino)
            kept = struct.unpack("q", note.read_bytes())[0] if note.exists() else 0
            if kept < found.st_size:
                lost += found.st_size - kept
                with path.open("r+b") as file:
                    file.truncate(kept)
        return lost


class PreloadedRedis(RedisServer):
    """A Redis with such libraries in front of the C library's."""

    preloaded: tuple[dict[str, str], ...] = ()

    def _environment(self) -> Mapping[str, str]:
        libraries = ":".join(one["LD_PRELOAD"] for one in self.preloaded)
        merged = {key: value for one in self.preloaded for key, value in one.items()}
        return {**super()._environment(), **merged, **({"LD_PRELOAD": libraries} if libraries else {})}


def wait_until_written(server: RedisServer) -> None:
    """Return once its append-only file has what it answered: with `everysec` it puts that off while its disk syncs."""
    with redis.Redis.from_url(server.url) as client:
        while client.info("persistence")["aof_buffer_length"]:
            pass
