"""Matches to be tested: one that is just dealt, and one whose seats are open."""

import pytest

from tests.engine.sent import TIMO
from tests.histories.record import Table


@pytest.fixture
def table() -> Table:
    """Timo's Twist for two, just dealt."""
    table = Table(TIMO, 2, label="match tests")
    table.fill()
    return table


@pytest.fixture
def lobby() -> Table:
    """Timo's Twist for three, nobody there yet."""
    return Table(TIMO, 3, label="lobby tests")
