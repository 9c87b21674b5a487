"""What `croupier` and `python -m services` start.

Loading the command line takes a moment; this module loads nothing, so that Ctrl-C ends that moment as it ends commands.
"""

import os
import signal
import sys

INTERRUPTED = 130  # as in cli_exit.py, which is not there yet


def main() -> None:
    """Load the command line and run it; exits with 130 after Ctrl-C at any moment."""
    begun = signal.getsignal(signal.SIGINT)
    if begun is signal.default_int_handler:  # whoever runs in the background of a script ignores it
        # No exception: it would come out of the middle of an import, or be swallowed there.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from services import cli  # noqa: PLC0415 - see above

    signal.signal(signal.SIGINT, begun)
    try:
        cli.main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
