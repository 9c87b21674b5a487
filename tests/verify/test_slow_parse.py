"""The verifier in JavaScript reads whatever it is handed, in time that grows with its length, not with its square."""

import base64
import json
import subprocess

from tests.fuzz.test_slow_parse import JOURNALS, documents
from tests.fuzz.work import NOISE, TIMES
from tests.verify.javascript import FOLDER, NODE, needs_node

LARGEST = 64 * 1024
SLOW_MS = 40
"""Whatever takes less is not slow, however it grows."""


@needs_node
def test_time_grows_no_faster_than_the_journal() -> None:
    cases = [*JOURNALS.items(), *documents("journal_file")]
    journals = [base64.b64encode(grow(size)).decode() for _, grow in cases for size in (LARGEST // TIMES, LARGEST)]
    done = subprocess.run(
        [NODE, FOLDER / "times.js"], input=json.dumps(journals).encode(), capture_output=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr.decode()
    times = json.loads(done.stdout)
    slow = {
        label: (short, long)
        for (label, _), short, long in zip(cases, times[::2], times[1::2], strict=True)
        if long > SLOW_MS and long > short * TIMES * NOISE
    }
    assert slow == {}
