"""Python's garbage collector in a service under load: seldom, and not of what is there at the start.

Commands, receipts and matches are values without cycles, freed at once when nothing holds them; the collector finds
little, and looks at everything each time.
"""

import gc

THRESHOLDS = (50_000, 10, 10)
"""As `gc.set_threshold` takes them. They count what stayed: what ended in a cycle after all is found after some
tens of megabytes."""


def calm() -> None:
    """Let the collector leave alone what is there now, and look seldom at what comes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
