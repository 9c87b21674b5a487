"""A wall clock that jumps: a library, loaded before the C library's, adds to it what stands in a file."""

import shutil
import struct
import subprocess
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_us;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CROUPIER_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *map = mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) offset_us = map;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && offset_us && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t us = now->tv_sec * 1000000LL + now->tv_nsec / 1000 + *offset_us;
        now->tv_sec = us / 1000000;
        now->tv_nsec = us % 1000000 * 1000;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec at;
    int failed = clock_gettime(CLOCK_REALTIME, &at);
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *to) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (to) *to = at.tv_sec;
    return at.tv_sec;
}
"""


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")


class JumpingClock:
    """The clock of all processes that are started with its environment."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "clock"
        self._library = folder / "clock.so"
        self._path.write_bytes(struct.pack("q", 0))
        compiling = compiler()
        assert compiling is not None, "there is no C compiler"
        arguments = [compiling, "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", str(self._library), "-ldl"]
        subprocess.run(arguments, input=_SOURCE, text=True, check=True)
        self.seconds = 0.0

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "CROUPIER_TEST_CLOCK": str(self._path)}

    def jump(self, seconds: float) -> None:
        """Move the clock, by less than nothing: back."""
        self.seconds += seconds
        with self._path.open("r+b") as file:
            file.write(struct.pack("q", int(self.seconds * 1e6)))
