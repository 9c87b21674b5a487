import pytest


@pytest.fixture(params=["redis_url", "redis_cluster_url"], ids=["server", "cluster"])
def url(request: pytest.FixtureRequest) -> str:
    """The store's contract holds on a server and on a cluster."""
    return str(request.getfixturevalue(request.param))
