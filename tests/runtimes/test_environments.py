"""What an environment section means, and how packages are reached."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.ecosystems import building
from pytest_crab.ecosystems.building import PackageRoute
from pytest_crab.ecosystems.go.tools import GoTools
from pytest_crab.errors import EngineError, ImageError
from pytest_crab.protocols import ORACLE_LIMITS
from pytest_crab.runtimes import (
    RuntimeSettings,
    bubblewrap,
    choose,
    environments,
    interpreters,
    make,
    prefer_most_interpreters,
)
from pytest_crab.runtimes.docker import DockerRuntime
from pytest_crab.runtimes.images import find_dockerfile, tools_in
from pytest_crab.types import Environment


def _environment(**settings: object) -> Environment:
    return Environment(**{"dockerfile": "python", **settings})  # type: ignore[arg-type]


def test_pytest_is_added_where_it_is_not_named() -> None:
    running = f"pytest=={importlib.metadata.version('pytest')}"
    assert environments.packages_of(_environment(packages=("pytest-mock==3",))) == ("pytest-mock==3", running)
    assert environments.packages_of(_environment(packages=("PyTest>=8",))) == ("PyTest>=8",)


def test_pytest_with_what_it_brings_is_no_pin() -> None:
    assert environments.pins_nothing(_environment(packages=("pytest==8.3.4", "pluggy==1.5.0")))
    assert not environments.pins_nothing(_environment(packages=("pytest==8.3.4", "attrs==24.2.0")))
    assert not environments.pins_nothing(_environment(install=("true",)))


def test_install_script_stops_at_the_first_failure_and_quotes() -> None:
    script = building.install_script(_environment(install=("false", "echo on"), env={"A": "it's; rm"}))
    assert script == "set -e\nexport A='it'\"'\"'s; rm'\nfalse\necho on\n"


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        (_environment(), {"node"}),
        (Environment(dockerfile="node", node="20"), {"node"}),
        (Environment(ecosystem="cpp", version="12", build=("make",)), {"cpp"}),
    ],
)
def test_tools_that_only_lie_in_an_image_play_no_part(environment: Environment, names: set[str]) -> None:
    found = {"node": ("/usr/bin/node", "v20.1.0"), "cpp": ("/usr/bin/g++", "12.2.0"), "go": ("/usr/bin/go", "go1.26.1")}
    assert set(dict(tools_in(found, environment))) == names


def test_another_way_to_build_is_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(**settings: Any) -> str:
        environment = Environment(ecosystem="go", version="1.26", **settings)
        return environments.image_key(environments.environment_identity(environment, {}, ORACLE_LIMITS))

    before = key()
    assert (key() == before, key(paths=("cart",)) == before) == (True, False)
    monkeypatch.setattr(GoTools, "build_script", lambda *_: "go build ./...\n")
    assert key() != before


@pytest.mark.parametrize(
    ("install", "resolved", "dated"),
    [
        ("pip install -e .", "2023-01-01T00:00:00Z", True),
        ("pip install --no-build-isolation -e .", "2023-01-01T00:00:00Z", False),
        ("pip install -e .", None, False),
    ],
)
def test_isolated_builds_are_of_the_environments_moment(install: str, resolved: str | None, *, dated: bool) -> None:
    environment = _environment(install=(install,), resolved=resolved)
    assert environments.builds_in_isolation(environment) is dated
    assert ("builds" in environments.environment_identity(environment, {}, ORACLE_LIMITS)) is dated
    if dated:
        script = building.install_script(environment, "/c.txt")
        assert {"export PIP_CONSTRAINT=/c.txt", f"export UV_EXCLUDE_NEWER={resolved}"} <= set(script.splitlines())


@pytest.mark.parametrize(
    ("based", "here", "name"),
    [
        ({"3.11"}, {"3.8", "3.11"}, "local"),
        ({"3.8", "3.11"}, {"3.8", "3.11"}, "docker"),
        ({"3.8", "3.11"}, {"3.11"}, "docker"),
        ({"3.8"}, {"3.11"}, "docker"),
    ],
)
def test_auto_is_the_runtime_that_can_make_more_of_the_pythons(
    monkeypatch: pytest.MonkeyPatch, based: set[str], here: set[str], name: str
) -> None:
    monkeypatch.setattr(DockerRuntime, "has_interpreter", lambda _, version: version in based)
    monkeypatch.setattr(interpreters, "find", lambda version: version if version in here else None)
    monkeypatch.setattr(bubblewrap, "problem", lambda: None)
    docker = RuntimeSettings(runtime="docker", why="the engine answers")
    chosen = prefer_most_interpreters(docker, ["3.8", "3.11"])
    assert chosen.runtime == name
    assert chosen == docker or "3.8" in chosen.why
    monkeypatch.setattr(bubblewrap, "problem", lambda: "there is none")
    assert prefer_most_interpreters(docker, ["3.8", "3.11"]) == docker


def test_an_index_with_a_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:geheim@localhost/simple")
    with pytest.raises(ImageError) as caught:
        PackageRoute.here().public_index()
    assert "geheim" not in str(caught.value)
    monkeypatch.setenv("PIP_INDEX_URL", "https://localhost/simple")
    assert PackageRoute.here().public_index() == "https://localhost/simple"


def test_a_bundle_is_used_only_if_the_environment_names_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert PackageRoute.here().bundle is None
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    with pytest.raises(ImageError, match="not a file"):
        PackageRoute.here()


def test_a_proxy_on_this_machines_loopback_is_nothing_to_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    given = {
        "http_proxy": "http://127.0.0.1:3128",
        "HTTPS_PROXY": "localhost:3128",
        "ALL_PROXY": "http://10.0.0.1:3128",
        "no_proxy": "localhost",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    route = PackageRoute.here()
    assert route.proxies == given
    assert set(route.proxies_of_containers()) == {"ALL_PROXY", "no_proxy"}


@pytest.mark.parametrize("name", ["python", "image"])
def test_shipped_dockerfiles_are_found(name: str, tmp_path: Path) -> None:
    assert "FROM ${BASE}" in find_dockerfile(name, tmp_path)


def test_a_dockerfile_that_is_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"no-such\.Dockerfile"):
        find_dockerfile("no-such", tmp_path)


def test_auto_is_local_where_no_engine_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    choice = choose(RuntimeSettings())
    assert choice.runtime == "local"
    assert "no Docker engine answers" in choice.why
    with pytest.raises(EngineError, match=r"no Docker engine answers .*use --crab-runtime=local"):
        choose(RuntimeSettings(runtime="docker", allow_unconfined=False))
    with pytest.raises(EngineError, match=r"no Docker engine answers .*use --runtime=local"):  # of a command
        choose(RuntimeSettings(runtime="docker"))


def test_a_runtime_that_is_not_in_the_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="use one of docker, local"):
        make(RuntimeSettings(runtime="podman"), rootdir=tmp_path, cache=tmp_path)
