"""The settings of a match service whose calls are tested."""

import pytest

from services.settings import Settings
from tests.services.match_front import settings_for


@pytest.fixture
def settings(redis_url: str, nats_url: str) -> Settings:
    return settings_for(redis_url, nats_url)
