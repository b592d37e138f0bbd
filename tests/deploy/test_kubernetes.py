"""What kustomize makes of deploy/kubernetes: valid for Kubernetes, without rights, with the containers' commands."""

import functools
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.host.machine import ROOT
from services.common.settings import load_settings
from tests.deploy.components import MODELS
from tests.needs import found

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")

FOLDER = ROOT / "deploy/kubernetes"
OVERLAYS = ("given-kafka", "strimzi")
ON_POSTGRESQL = "on PostgreSQL"
SINGLE = {"alerting", "fusion", "archive", "history"}
OURS = {"matchLabels": {"app.kubernetes.io/part-of": "coincide"}}
OF_OTHERS = ("kafka.strimzi.io/",)  # whose schemas are not those of Kubernetes

Document = dict[str, Any]


@functools.cache
def rendered(overlay: str) -> list[Document]:
    """Return what kustomize makes of an overlay; a skip says that there is no kustomize."""
    if overlay != ON_POSTGRESQL:
        return made_of(FOLDER / overlay)
    with tempfile.TemporaryDirectory() as own:
        made = yaml.safe_load((FOLDER / "given-kafka" / "kustomization.yaml").read_text(encoding="utf-8"))
        made["resources"] = [os.path.relpath(FOLDER / "base", own)]
        made["components"] = [os.path.relpath(FOLDER / each, own) for each in ("archive", "postgresql", "pods")]
        (Path(own) / "kustomization.yaml").write_text(json.dumps(made), encoding="utf-8")
        return made_of(Path(own))


def made_of(folder: Path) -> list[Document]:
    program = found("kubernetes-client")
    word = "kustomize" if program.endswith("kubectl") else "build"
    made = subprocess.run([program, word, str(folder)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return list(yaml.safe_load_all(made.stdout))


def of_kind(overlay: str, *kinds: str) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in rendered(overlay) if each["kind"] in kinds}


def pods(overlay: str) -> dict[str, Document]:
    """Return the pod of each component."""
    return {name: each["spec"]["template"]["spec"] for name, each in components(overlay).items()}


def components(overlay: str) -> dict[str, Document]:
    return of_kind(overlay, "Deployment", "StatefulSet")


def containers(overlay: str) -> Iterator[tuple[str, Document]]:
    for name, pod in pods(overlay).items():
        yield from ((name, each) for each in (*pod.get("initContainers", ()), *pod["containers"]))


def compose(name: str) -> Document:
    services: Document = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    return dict(services[name])


def environment(pod: Document) -> dict[str, str]:
    """Return what its settings are read from; Kafka's address is somewhere."""
    return {
        each["name"]: each.get("value", "kafka:9092")
        for each in pod["containers"][0]["env"]
        if each["name"] != "COINCIDE_CONFIG"
    }


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubernetes_knows_every_field(overlay: str) -> None:
    version = kubernetes_validate.latest_version()
    own = [each for each in rendered(overlay) if not each["apiVersion"].startswith(OF_OTHERS)]
    for each in own:
        kubernetes_validate.validate(each, version, strict=True)
    assert len(own) == 20
    wrong = {**own[0], "spce": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_component_runs_the_command_of_its_container(overlay: str) -> None:
    assert components(overlay).keys() == MODELS.keys()
    for name, pod in pods(overlay).items():
        [container] = pod["containers"]
        command = container["command"]
        if name == "ingest":  # here the sensors come first; there they are a container of their own
            before, then = (" ".join(compose(each)["command"]) for each in ("sensors", name))
            assert command == ["sh", "-c", f"{before} && exec {then}"]
        else:
            assert command == compose(name)["command"]
        image = "fusion" if name in {"fusion", "archive", "history"} else "services"
        assert re.search(rf"/{image}:\d+\.\d+\.\d+$", container["image"])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_compose_sets_is_set_here(overlay: str) -> None:
    """All but where a container has its own files: receivers, and hosts that have other names."""
    for name, pod in pods(overlay).items():
        here, there = environment(pod), compose(name)["environment"]
        assert here.keys() == there.keys() - {"<<", "COINCIDE_CONFIG", "COINCIDE_ALERTING_RECEIVERS_PATH"}
        settings = load_settings(MODELS[name], ROOT / f"config/{name}.yaml", here)
        [port] = pod["containers"][0]["ports"]
        assert settings.port == port["containerPort"]
        assert settings.host == "0.0.0.0"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_container_has_rights_and_each_is_bounded(overlay: str) -> None:
    for name, container in containers(overlay):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert container["resources"]["limits"].keys() == {"memory"}
        assert container["resources"]["requests"].keys() == {"memory", "cpu"}
    for name, pod in pods(overlay).items():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 10001, "as the Dockerfiles say"
        assert pod["automountServiceAccountToken"] is False
        assert [each["name"] for each in pod.get("initContainers", ())] == ([] if name == "console" else ["topics"])
    assert not of_kind(overlay, "Secret")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_component_is_asked_how_it_is(overlay: str) -> None:
    for pod in pods(overlay).values():
        [container] = pod["containers"]
        paths = {probe: container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")}
        assert paths == {"startup": "/livez", "liveness": "/livez", "readiness": "/readyz"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_must_be_one_is_one_and_keeps_its_files(overlay: str) -> None:
    """A Deployment would start the next pod beside the last one."""
    found = components(overlay)
    assert {name for name, each in found.items() if each["kind"] == "StatefulSet"} == SINGLE
    assert all(found[name]["spec"]["replicas"] == 1 for name in SINGLE)
    for name in SINGLE:
        mounted = {each["name"] for each in pods(overlay)[name]["containers"][0]["volumeMounts"]}
        claimed = {each["metadata"]["name"] for each in found[name]["spec"].get("volumeClaimTemplates", ())}
        claimed |= {each["name"] for each in pods(overlay)[name]["volumes"] if "persistentVolumeClaim" in each}
        assert claimed
        assert claimed <= mounted


def test_on_postgresql_alerting_is_two_pods_without_files() -> None:
    for each in rendered(ON_POSTGRESQL):
        kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)
    alerting = components(ON_POSTGRESQL)["alerting"]["spec"]
    assert (alerting["replicas"], alerting.get("volumeClaimTemplates")) == (2, None)
    pod = alerting["template"]["spec"]
    [container] = pod["containers"]
    assert {each["name"] for each in container["volumeMounts"]} <= {each["name"] for each in pod["volumes"]}
    [url] = [each for each in container["env"] if each["name"] == "COINCIDE_ALERTING_DATABASE_URL"]
    assert url["valueFrom"] == {"secretKeyRef": {"name": "coincide-postgresql", "key": "url"}}
    assert "value" not in url
    assert environment(pod).keys() == environment(pods("given-kafka")["alerting"]).keys()
    budgets = of_kind(ON_POSTGRESQL, "PodDisruptionBudget")
    assert budgets["alerting"]["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": "alerting"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_ingest_grows_and_never_goes_away_whole(overlay: str) -> None:
    [scaler] = of_kind(overlay, "HorizontalPodAutoscaler").values()
    assert scaler["spec"]["scaleTargetRef"]["name"] == "ingest"
    assert scaler["spec"]["minReplicas"] >= 2
    assert "replicas" not in components(overlay)["ingest"]["spec"]  # each `kubectl apply` would put them back
    [budget] = of_kind(overlay, "PodDisruptionBudget").values()
    assert budget["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": "ingest"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_who_calls_whom_is_there_under_that_name(overlay: str) -> None:
    services = of_kind(overlay, "Service")
    ports = {name: service["spec"]["ports"][0]["port"] for name, service in services.items()}
    called = {
        value for pod in pods(overlay).values() for key, value in environment(pod).items() if key.endswith("_URL")
    }
    urls = {each for each in called if each.startswith("http")}
    assert urls == {f"http://{name}:{port}" for name, port in ports.items() if name != "console"}
    for name, service in services.items():
        assert service["spec"]["selector"] == {"app.kubernetes.io/name": name}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nobody_reaches_what_has_no_door(overlay: str) -> None:
    policies = of_kind(overlay, "NetworkPolicy")
    assert "ingress" not in policies["nobody"]["spec"]  # of all pods
    assert policies["nobody"]["spec"]["podSelector"] == OURS
    selectors = {name: policies[name]["spec"]["podSelector"] for name in ("doors", "inside")}
    named = {name: set(each["matchExpressions"][0]["values"]) for name, each in selectors.items()}
    assert named == {"doors": {"ingest", "alerting", "console"}, "inside": {"fusion", "archive", "history"}}
    for each in components(overlay).values():
        assert each["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/part-of"] == "coincide"


def test_strimzi_has_the_kafka_that_is_tested_and_lets_only_us_in() -> None:
    [kafka] = of_kind("strimzi", "Kafka").values()
    assert f'rev="{kafka["spec"]["kafka"]["version"]}"' in (ROOT / "deploy/jvm/ivy.xml").read_text(encoding="utf-8")
    [listener] = kafka["spec"]["kafka"]["listeners"]
    assert listener["networkPolicyPeers"] == [{"podSelector": OURS}]
    [address] = of_kind("strimzi", "ConfigMap").values()
    assert address["data"] == {"bootstrap": f"{kafka['metadata']['name']}-kafka-bootstrap:{listener['port']}"}
