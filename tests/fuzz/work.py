"""What reading costs, told without a clock where that can be, and with one only to compare a text with a longer one."""

import functools
import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

Run = Callable[[], object]
TIMES = 8
SLOW_S = 0.02
"""Whatever takes less is not slow, however it grows: at the sizes of these tests a square would take far more."""
NOISE = 4
"""By how much a time may be off; a square would be off by `times`."""


def steps(run: Run) -> int:
    """Return how many lines of Python were executed, calls included."""
    count = 0

    def trace(_frame: FrameType, _event: str, _arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def doings(run: Run) -> list[str]:
    """Return what was called in order, functions of C included."""
    found: list[str] = []

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        found.append(f"{event} {arg.__qualname__ if event.startswith('c_') else frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found


def seconds(run: Run, best_of: int = 1) -> float:
    """Return the least processor time of this thread, so that what else the machine does counts little.

    Without the garbage collector: what it takes depends on all that lives in this process.
    """
    best = float("inf")
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(best_of):
            began = time.thread_time()
            run()
            best = min(best, time.thread_time() - began)
    finally:
        if collecting:
            gc.enable()
    return best


def grows_too_fast(read: Callable[[bytes], object], grow: Callable[[int], bytes], largest: int) -> str | None:
    """Say how reading grows faster than what is read, which `grow` makes of any size; None if it does not.

    What C does is seen by its time alone, at an eighth of the largest size and at the largest. Lines of Python are
    counted exactly, which takes long, so at an eighth of these sizes.
    """
    short, long = grow(largest // TIMES), grow(largest)
    if seconds(lambda: read(long)) > SLOW_S:
        small, great = (seconds(functools.partial(read, data), 3) for data in (short, long))
        if great > SLOW_S and great > small * NOISE * len(long) / len(short):
            return f"{great:.3f} s for {len(long)} bytes, {small:.5f} s for {len(short)}"
    least = grow(largest // TIMES**2)
    few, many = (steps(functools.partial(read, data)) for data in (least, short))
    if many > few * 1.5 * len(short) / len(least) + 500:
        return f"{many} lines for {len(short)} bytes, {few} for {len(least)}"
    return None
