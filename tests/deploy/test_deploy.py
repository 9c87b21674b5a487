"""The files in `deploy/` fit each other, the settings and the metrics, as far as can be seen without a cluster."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from services.metrics import Metrics
from services.settings import PREFIX, Settings

DEPLOY = Path(__file__).parents[2] / "deploy"
OPERATIONS = DEPLOY.parent / "docs" / "operations.md"
PROMTOOL = shutil.which("promtool")
ROLES = {"match", "engine", "auth", "archive"}
ON_NATS = ROLES - {"archive"}
ON_REDIS = ROLES - {"auth"}


def documents(*folders: str):
    for folder in folders:
        for path in sorted((DEPLOY / folder).glob("*.y*ml")):
            yield from ((path.name, document) for document in yaml.safe_load_all(path.read_text()))


PARTS = ("k8s/base", "k8s/archive", "k8s/archive-volume")
MANIFESTS = [document for name, document in documents(*PARTS) if name != "kustomization.yaml"]


def of_kind(kind: str):
    return {document["metadata"]["name"]: document for document in MANIFESTS if document["kind"] == kind}


def samples() -> set[str]:
    """The names of all series that Croupier's processes can show."""
    families = Metrics().registry.collect()
    plain = {family.name for family in families}
    return plain | {f"{name}{end}" for name in plain for end in ("_total", "_bucket", "_sum", "_count")}


def uncommented(path: Path) -> str:
    return "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))


def alerts():
    rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())
    return [rule for group in rules["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_operators_can_read_what_an_alert_means_and_what_to_do(rule):
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"]["summary"]
    assert f"### {rule['alert']}\n" in OPERATIONS.read_text()


def test_for_every_alert_it_is_written_down_when_it_fires_and_when_not():
    tests = yaml.safe_load((DEPLOY / "prometheus/alerts.test.yml").read_text())["tests"]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    names = {rule["alert"] for rule in alerts()}
    assert {case["alertname"] for case in cases if "exp_alerts" in case} == names
    assert {case["alertname"] for case in cases if "exp_alerts" not in case} == names


@pytest.mark.skipif(PROMTOOL is None, reason="Prometheus' own promtool is not on PATH")
def test_alerts_fire_when_they_should_by_the_word_of_prometheus():
    command = [str(PROMTOOL), "test", "rules", str(DEPLOY / "prometheus/alerts.test.yml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_asks_every_service_that_counts():
    jobs = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    assert {job["job_name"] for job in jobs} == {f"croupier-{role}" for role in ROLES}


def test_every_setting_that_is_set_somewhere_is_one():
    known = {PREFIX + name.upper() for name in Settings.model_fields} | {"CROUPIER_IMAGE"}
    for path in DEPLOY.rglob("*"):
        if path.is_file() and path.suffix in {".yaml", ".env", ""}:
            found = set(re.findall(r"\bCROUPIER_[A-Z_]*[A-Z]\b", path.read_text())) - {"CROUPIER_MATCH_PORT"}
            assert found <= known, path


def test_compose_runs_every_part_with_a_health_check_and_a_guarded_nats():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    assert services.keys() >= ROLES | {"redis", "nats", "prometheus", "grafana"}
    assert services["engine"]["deploy"]["replicas"] == 2
    assert {"healthcheck"} <= services["redis"].keys() & services["nats"].keys()
    assert "/etc/nats/nats.conf" in services["nats"]["command"], "without accounts everybody hears every view"
    access = (DEPLOY / "nats_access.conf").read_text() + (DEPLOY / "nats.conf").read_text()
    assert set(re.findall(r"\$(NATS_[A-Z_]+)", access)) == services["nats"]["environment"].keys()
    for role in ON_NATS:
        assert services[role]["environment"]["CROUPIER_NATS_USER"] == role
        assert services[role]["environment"]["CROUPIER_NATS_PASSWORD"] == f"${{NATS_{role.upper()}_PASSWORD}}"
    guard = services["redis"]["environment"]
    assert "/etc/redis/redis.sh" in services["redis"]["command"], "without users everybody reads every seed"
    hashes = re.findall(r"\$(REDIS_[A-Z]+)_SHA256", uncommented(DEPLOY / "redis.conf"))
    assert {f"{name}_PASSWORD" for name in hashes} == guard.keys()
    for role in ON_REDIS:
        assert services[role]["environment"]["CROUPIER_REDIS_USER"] == role
        assert services[role]["environment"]["CROUPIER_REDIS_PASSWORD"] == f"${{REDIS_{role.upper()}_PASSWORD}}"
    for role in ROLES:
        assert services[role]["command"] == [role]
        assert services[role]["read_only"] is True
        assert services[role]["depends_on"].keys() == {"redis", "nats"}
    for service in services.values():
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            assert source in compose["volumes"] or (DEPLOY / source).exists(), mount


def test_compose_keeps_the_archive_where_the_archiver_writes_and_match_services_read():
    """All of Redis know of it; its folder in the image is the user's, and a new volume takes over whose it is."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    assert {services[role]["environment"]["CROUPIER_ARCHIVE"] for role in ON_REDIS} == {"${CROUPIER_ARCHIVE:-/archive}"}
    assert services["archive"]["volumes"] == ["archive:/archive"]
    assert services["match"]["volumes"] == ["archive:/archive:ro"]
    assert "install --directory --owner=10001 --group=10001 --mode=0750 /archive" in (DEPLOY / "Dockerfile").read_text()


def test_the_image_has_a_health_check_and_its_user_is_not_root():
    text = (DEPLOY / "Dockerfile").read_text()
    steps = [line.split()[0] for line in text.splitlines() if re.match(r"[A-Z]+ ", line)]
    assert steps[-1] == "CMD"
    assert {"HEALTHCHECK", "ENTRYPOINT", "STOPSIGNAL"} <= set(steps)
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["10001:10001"]


def test_nothing_goes_into_the_build_but_what_the_image_is_made_of():
    lines = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    allowed = [line.removeprefix("!") for line in lines if line.startswith("!")]
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert lines[1] == "*", "a local stack leaves secrets in its folder"
    assert sorted(allowed) == sorted(source for sources in copied for source in sources.split())


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_deployment_is_probed_limited_and_has_no_rights(role):
    deployment = of_kind("Deployment")[f"croupier-{role}"]
    pod = deployment["spec"]["template"]["spec"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["enableServiceLinks"] is False
    (container,) = pod["containers"]
    assert container["args"] == [role]
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert "memory" in container["resources"]["limits"]
    drain = int(of_kind("ConfigMap")["croupier"]["data"]["CROUPIER_DRAIN_S"])
    assert pod["terminationGracePeriodSeconds"] > drain
    assert f"croupier-{role}" in of_kind("PodDisruptionBudget")
    assert (f"croupier-{role}" in of_kind("HorizontalPodAutoscaler")) == (role in {"match", "engine"})
    env = {one["name"]: one for one in container["env"]}
    if role in ON_NATS:
        assert env["CROUPIER_NATS_USER"]["value"] == role
        assert env["CROUPIER_NATS_PASSWORD"]["valueFrom"]["secretKeyRef"]["key"] == f"NATS_{role.upper()}_PASSWORD"
    if role in ON_REDIS:
        assert env["CROUPIER_REDIS_USER"]["value"] == role
        assert env["CROUPIER_REDIS_PASSWORD"]["valueFrom"]["secretKeyRef"]["key"] == f"REDIS_{role.upper()}_PASSWORD"
    assert ("CROUPIER_SEED_KEY" in env) == (role == "engine"), "only workers open seeds"


def test_workers_scale_by_a_metric_that_is_there():
    (metric,) = of_kind("HorizontalPodAutoscaler")["croupier-engine"]["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] in samples()


def test_kustomize_lists_every_file_and_its_patches_meet_something():
    for part in PARTS:
        listed = yaml.safe_load((DEPLOY / part / "kustomization.yaml").read_text())["resources"]
        there = {path.name for path in (DEPLOY / part).glob("*.yaml")} - {"kustomization.yaml"}
        assert set(listed) == there
    overlay = yaml.safe_load((DEPLOY / "k8s/overlays/small/kustomization.yaml").read_text())
    for patch in overlay["patches"]:
        document = of_kind(patch["target"]["kind"])[patch["target"]["name"]]
        for operation in yaml.safe_load(patch["patch"]):
            where = document
            for step in operation["path"].strip("/").split("/"):
                where = where[int(step) if isinstance(where, list) else step]
