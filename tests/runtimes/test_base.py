"""A base image that an older version has packed is told from one of this version."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pytest_crab.cli.doctor import doctor
from pytest_crab.runtimes import base as bases

if TYPE_CHECKING:
    from pathlib import Path

    from docker import APIClient

pytestmark = pytest.mark.docker
TAG = "pytest-crab-base:0.1"


@pytest.fixture
def client() -> Iterator[APIClient]:
    import docker

    try:
        client = docker.APIClient(version="auto")
    except docker.errors.DockerException as error:
        pytest.skip(f"no Docker engine answers: {error}")
    yield client
    client.remove_image(TAG, force=True)
    client.close()


def test_a_base_of_another_version_is_old(client: APIClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "base.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(tarfile.TarInfo("nothing"), io.BytesIO())
    bases._import(client, archive, TAG, "0.1")
    labels = client.inspect_image(TAG)["Config"]["Labels"]
    assert labels["pytest-crab.base"] == "0.1"
    assert not bases.is_old(client, TAG)
    assert f"yes: {TAG}" in CliRunner().invoke(doctor, ["--python", "0.1"]).output
    monkeypatch.setattr(bases, "_LIBC", ("librt",))
    assert bases.is_old(client, TAG)
    told = CliRunner().invoke(doctor, ["--python", "0.1"]).output
    assert f"old: {TAG} was made by another version; build it again with --build-base" in told
    client.remove_image(TAG, force=True)
    client.import_image_from_file(str(archive), repository="pytest-crab-base", tag="0.1", changes=["LABEL of=others"])
    assert not bases.is_old(client, TAG)
