"""The files in `deploy/` are what the programs that will read them take: linter, schemas, kustomize, parsers.

All of these come with `make setup`; nothing asks a cluster, a Docker engine or a network. kubectl has no wheel but for
Linux; elsewhere the one on PATH is used.
"""

import json
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import kubernetes_validate
import promql_parser
import pytest
import yaml
from compose_spec import PyCompose

from services.metrics import Metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
PROGRAMS = sysconfig.get_path("scripts")
KUBECTL = shutil.which("kubectl", path=PROGRAMS) or shutil.which("kubectl")
KUBERNETES = ("1.32", "1.37")
"""The oldest and the newest that the manifests are for."""
KUSTOMIZATIONS = ("k8s/base", "k8s/overlays/small", "k8s/overlays/bucket")
REFERENCE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<how>[-?])(?P<rest>[^}]*))?\}")
SCRAPED = {"job", "instance"}
"""Labels that Prometheus gives to every series."""

pytestmark = pytest.mark.timeout(120)


# --- the image -------------------------------------------------------------------------------------------------------


def lint(dockerfile: Path) -> str:
    """Return what hadolint, with its shell checks, finds; empty for nothing at all."""
    command = [shutil.which("hadolint", path=PROGRAMS), "--no-color", "--failure-threshold", "style", dockerfile]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(done.stdout), done.stderr
    return done.stdout


def test_the_dockerfile_passes_its_linter():
    assert lint(DEPLOY / "Dockerfile") == ""


@pytest.mark.parametrize(
    ("good", "bad", "rule"),
    [
        ("FROM python:${PYTHON}-slim\n", "FROM python\n", "DL3006"),
        ("WORKDIR /src", "WORKDIR src", "DL3000"),
        ('ENTRYPOINT ["croupier"]', "ENTRYPOINT croupier", "DL3025"),
        ("RUN useradd --system", "RUN useradd $NAME --system", "SC2086"),
    ],
)
def test_the_linter_finds_what_is_wrong(good, bad, rule, tmp_path):
    text = (DEPLOY / "Dockerfile").read_text()
    assert good in text
    worse = tmp_path / "Dockerfile"
    worse.write_text(text.replace(good, bad))
    assert rule in lint(worse)


# --- compose ---------------------------------------------------------------------------------------------------------


def filled() -> dict[str, str]:
    """Return example.env as an operator fills it in."""
    lines = (DEPLOY / "example.env").read_text().splitlines()
    names = [line.partition("=")[0] for line in lines if line and not line.startswith("#")]
    return {name: f"a-{name.lower()}" for name in names}


def interpolated(value: object, env: dict[str, str]) -> object:
    """Return a document with its variables replaced. Raises ValueError, in compose's words, for one it needs."""
    if isinstance(value, dict):
        return {key: interpolated(one, env) for key, one in value.items()}
    if isinstance(value, list):
        return [interpolated(one, env) for one in value]
    if not isinstance(value, str):
        return value

    def replaced(found: re.Match[str]) -> str:
        name, how, rest = found["name"], found["how"], found["rest"]
        if given := env.get(name):
            return given
        if how != "-":
            raise ValueError(f"{name}: {rest or 'is not set'}")
        return rest

    assert "$" not in REFERENCE.sub("", value), f"{value}: neither ${{NAME}} nor ${{NAME:-default}}"
    return REFERENCE.sub(replaced, value)


def composed(env: dict[str, str]) -> dict[str, object]:
    return interpolated(yaml.safe_load((DEPLOY / "compose.yaml").read_text()), env)


def test_the_compose_file_with_a_filled_in_environment_is_one_by_the_compose_specification():
    compose = PyCompose.from_yaml(yaml.safe_dump(composed(filled())))
    assert set(compose.service_names()) >= {"redis", "nats", "match", "engine", "auth", "prometheus", "grafana"}


@pytest.mark.parametrize("name", filled())
def test_compose_names_each_variable_that_is_left_empty(name):
    unset = {other: value for other, value in filled().items() if other != name}
    with pytest.raises(ValueError, match=rf"^{name}: .*deploy/\.env"):
        composed(unset)


@pytest.mark.parametrize(
    ("service", "wrong"),
    [
        ("redis", {"helthcheck": {}}),
        ("match", {"ports": ["fifty"]}),
        ("engine", {"deploy": {"replicas": "two"}}),
        ("auth", {"restart": "sometimes"}),
        ("nats", {"depends_on": {"redis": {"condition": "service_well"}}}),
    ],
)
def test_the_compose_specification_refuses_what_compose_would(service, wrong):
    document = composed(filled())
    document["services"][service] |= wrong
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PyCompose.from_yaml(yaml.safe_dump(document))


# --- Kubernetes ------------------------------------------------------------------------------------------------------


def built(kustomization: Path) -> list[dict]:
    """Return what `kubectl apply -k` would send."""
    command = [KUBECTL, "kustomize", kustomization]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "kustomize warns"
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module", params=KUSTOMIZATIONS)
def manifests(request):
    if KUBECTL is None:
        pytest.skip("there is no kubectl, and no wheel of it for this system")
    return built(DEPLOY / request.param)


@pytest.mark.parametrize("version", KUBERNETES)
def test_kustomize_builds_what_the_schemas_of_kubernetes_take(manifests, version):
    kinds = {document["kind"] for document in manifests}
    assert {"Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy", "Service"} <= kinds
    for document in manifests:
        assert kubernetes_validate.validate(document, version, strict=True) == version


def test_an_overlay_names_an_image_of_a_release_and_its_patches_are_in_what_is_built(manifests, request):
    images = {
        container["image"]
        for document in manifests
        if document["kind"] == "Deployment"
        for container in document["spec"]["template"]["spec"]["containers"]
    }
    (settings,) = [document["data"] for document in manifests if document["kind"] == "ConfigMap"]
    built_of = request.node.callspec.id
    overlay = "overlays" in built_of
    assert images == ({"registry.example.org/croupier:0.1.0"} if overlay else {"croupier:latest"})
    assert settings["CROUPIER_REDIS_CLUSTER"] == ("false" if "small" in built_of else "true")
    assert {document["metadata"].get("namespace") for document in manifests} == {"croupier" if overlay else None}


def of(documents: list[dict], kind: str, name: str) -> dict:
    (found,) = [one for one in documents if one["kind"] == kind and one["metadata"]["name"] == name]
    return found


@pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl, and no wheel of it for this system")
@pytest.mark.parametrize(("overlay", "where"), [("small", "/archive"), ("bucket", "s3://example-bucket/croupier")])
def test_an_overlay_with_an_archiver_tells_all_services_where_the_archive_is_and_lets_them_there(overlay, where):
    """A worker that did not know would let matches expire before they are archived."""
    documents = built(DEPLOY / "k8s/overlays" / overlay)
    assert of(documents, "ConfigMap", "croupier")["data"]["CROUPIER_ARCHIVE"] == where
    policy = of(documents, "NetworkPolicy", "croupier")
    mounted = {}
    for role in ("archive", "match", "engine"):
        pod = of(documents, "Deployment", f"croupier-{role}")["spec"]["template"]
        (container,) = pod["spec"]["containers"]
        assert {"configMapRef": {"name": "croupier"}} in container["envFrom"]
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        mounts = {one["name"]: one for one in container.get("volumeMounts", ())}
        claims = {one["name"]: one["persistentVolumeClaim"] for one in pod["spec"].get("volumes", ())}
        assert mounts.keys() == claims.keys()
        mounted[role] = [(claims[name], mounts[name]) for name in mounts]
    if overlay == "small":
        claim = {"claimName": of(documents, "PersistentVolumeClaim", "croupier-archive")["metadata"]["name"]}
        at = {"name": "archive", "mountPath": where}
        assert mounted == {
            "archive": [(claim, at)],
            "match": [(claim | {"readOnly": True}, at | {"readOnly": True})],
            "engine": [],
        }
        writer = of(documents, "Deployment", "croupier-archive")["spec"]["template"]["spec"]["securityContext"]
        assert writer["fsGroup"] == writer["runAsUser"], "else the volume is root's"
    else:
        assert mounted == {"archive": [], "match": [], "engine": []}
        assert {"ports": [{"port": 443}]} in policy["spec"]["egress"]


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (["spec", "replica"], 2),
        (["spec", "replicas"], "two"),
        (["spec", "template", "spec", "containers", 0, "readinesProbe"], {}),
        (["spec", "template", "spec", "containers", 0, "ports", 0, "containerPort"], "grpc"),
    ],
)
def test_the_schemas_refuse_what_a_cluster_would(path, wrong):
    document = yaml.safe_load((DEPLOY / "k8s/base/match.yaml").read_text().split("\n---\n")[0])
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = wrong
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, KUBERNETES[-1], strict=True)


# --- Prometheus and Grafana ------------------------------------------------------------------------------------------


def alerts() -> list[str]:
    rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def panels() -> list[str]:
    board = json.loads((DEPLOY / "grafana/dashboards/croupier.json").read_text())
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def labels_of_series() -> dict[str, set[str]]:
    """Return the labels of every series that Croupier's processes show, besides those that Prometheus adds."""
    metrics = Metrics()
    labels: dict[str, set[str]] = {"up": set()}
    for made in vars(metrics).values():
        name, names = getattr(made, "_name", None), set(getattr(made, "_labelnames", ()))
        if name is not None:
            labels |= {f"{name}{end}": names for end in ("", "_total", "_sum", "_count")}
            labels[f"{name}_bucket"] = {*names, "le"}
    return {family.name: set() for family in metrics.registry.collect()} | labels


def asked_for(expression: str) -> tuple[dict[str, set[str]], set[str]]:
    """Return the labels by which an expression chooses, by series, and those by which it groups."""
    chosen: dict[str, set[str]] = {}
    grouped: set[str] = set()

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.MatrixSelector):
            node = node.vector_selector
        if isinstance(node, promql_parser.VectorSelector):
            chosen.setdefault(node.name, set()).update(one.name for one in node.matchers.matchers)
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            grouped.update(node.modifier.labels)

    promql_parser.walk(promql_parser.parse(expression), visit)
    return chosen, grouped


@pytest.mark.parametrize("expression", [*alerts(), *panels()])
def test_an_expression_parses_and_its_series_have_the_labels_that_it_uses(expression):
    known = labels_of_series()
    chosen, grouped = asked_for(expression)
    assert chosen
    assert chosen.keys() <= known.keys()
    for series, labels in chosen.items():
        assert labels <= known[series] | SCRAPED
    assert grouped <= set().union(*(known[series] for series in chosen)) | SCRAPED


@pytest.mark.parametrize("expression", ["sum(croupier_intake_lag", "rate(croupier_moves_total)", "max by (x"])
def test_an_expression_that_prometheus_would_refuse_is_found(expression):
    with pytest.raises(ValueError, match=r"\S"):
        asked_for(expression)
