"""What a container's health check says."""

from services.healthy import healthy
from services.local import free_port
from services.metrics import Metrics
from services.settings import Settings


def test_a_worker_is_well_while_its_metrics_answer():
    with Metrics().serve("127.0.0.1", 0) as endpoint:
        settings = Settings(metrics_port=endpoint.port, grpc_port=free_port())
        assert healthy(settings, "engine")
        assert not healthy(settings, "match"), "metrics do not make a match service"
    assert not healthy(settings, "engine")
    assert not healthy(Settings(), "engine"), "it has no endpoint"


def test_a_match_service_that_speaks_tls_is_well_while_its_metrics_say_that_it_serves():
    """Whatever its certificate is for, and although it may let in nobody without one."""
    metrics = Metrics()
    with metrics.serve("127.0.0.1", 0) as endpoint:
        settings = Settings(
            metrics_port=endpoint.port, grpc_port=free_port(), grpc_tls_cert="server.crt", grpc_tls_key="server.key"
        )
        assert not healthy(settings, "match")
        metrics.serving.set(True)
        assert healthy(settings, "match")
    assert not healthy(settings, "match")
