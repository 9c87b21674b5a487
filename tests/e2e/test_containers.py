"""A whole match on Redis, Valkey and NATS from their official images, where Docker answers and has them."""

from contextlib import closing

import docker
import pytest

from services.stack import Stack
from tests.containers import missing, nats_in_container, redis_in_container
from tests.e2e.conftest import environment
from tests.e2e.table import assert_sound, awaited, begin, connected

pytestmark = pytest.mark.containers


@pytest.fixture(params=["redis", "valkey"])
def contained(request: pytest.FixtureRequest, tmp_path) -> Stack:
    """A stack, not started yet, with containers in the places of its servers."""
    if reason := missing(request.param, "nats"):
        pytest.skip(reason)
    stack = Stack(tmp_path, engines=1, env=environment())
    stack.redis = redis_in_container(request.param)
    stack.nats = nats_in_container(stack.access.config())
    return stack


def test_a_match_is_played_to_its_end_on_the_official_images(contained: Stack) -> None:
    """Every receipt stands in the journal once, every seat saw the same end, and nothing is left of the containers."""
    with contained:
        play(contained)
    with closing(docker.from_env()) as client:
        there = {container.id for container in client.containers.list(all=True)}
    assert not there & {contained.redis.id, contained.nats.id}


@awaited
async def play(stack: Stack) -> None:
    async with connected(stack) as client:
        played = await begin(client, "timos_twist", 2, {"target": 50})
        await played.end()
    assert_sound(stack, played)


def test_without_docker_the_reason_to_skip_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    assert missing("redis").startswith("Docker does not answer: ")
