"""Every scenario file holds."""

from pathlib import Path

import pytest

from engine.scenario import Failure, files, run

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("path", list(files([FOLDER])), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_scenario(path: Path):
    """Played step by step, with its own chance, the match is at each expectation what the file says."""
    try:
        run(path.read_bytes())
    except Failure as failure:
        pytest.fail(f"{path.relative_to(FOLDER)}: {failure}", pytrace=False)
