"""A base image that an older version has packed is told from one of this version."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pytest_crab.cli.doctor import doctor
from pytest_crab.runtimes import RuntimeSettings, base_images as bases, choose

if TYPE_CHECKING:
    from pathlib import Path

    from docker import APIClient

pytestmark = pytest.mark.docker
VERSION = f"0.{os.getpid()}"
TAG = f"pytest-crab-base:{VERSION}"


@pytest.fixture
def client() -> Iterator[APIClient]:
    import docker

    client = docker.from_env().api
    yield client
    client.remove_image(TAG, force=True)
    client.close()


def test_a_base_of_another_version_is_old(client: APIClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "base.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(tarfile.TarInfo("nothing"), io.BytesIO())
    bases._import(client, archive, TAG, VERSION)
    labels = client.inspect_image(TAG)["Config"]["Labels"]
    assert labels["pytest-crab.base"] == VERSION
    assert not bases.is_old(client.inspect_image(TAG))
    assert f"yes: {TAG}" in CliRunner().invoke(doctor, ["--python", VERSION]).output
    assert choose(RuntimeSettings(runtime="docker"), version=VERSION).why == "named"
    monkeypatch.setattr(bases, "_LIBC", ("librt",))
    assert bases.is_old(client.inspect_image(TAG))
    warned = f"warning: {TAG} was made by another version, build it again: pytest-crab doctor --build-base"
    assert choose(RuntimeSettings(runtime="docker"), version=VERSION).why == f"named; {warned}"
    assert choose(RuntimeSettings(), version=VERSION).why.endswith(warned)
    told = CliRunner().invoke(doctor, ["--python", VERSION]).output
    assert f"old: {TAG} was made by another version; build it again with --build-base" in told
    client.remove_image(TAG, force=True)
    client.import_image_from_file(str(archive), repository="pytest-crab-base", tag=VERSION, changes=["LABEL of=others"])
    assert not bases.is_old(client.inspect_image(TAG))


def test_a_base_that_is_built_again_leaves_the_old_image_only_to_those_made_of_it(
    client: APIClient, tmp_path: Path
) -> None:
    import docker.errors

    archive = tmp_path / "base.tar"
    built = []
    for name in ("first", "second", "third"):
        with tarfile.open(archive, "w") as tar:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
        bases._import(client, archive, TAG, VERSION)
        built.append(client.inspect_image(TAG)["Id"])
        if name == "second":
            container = client.create_container(TAG, ["/bin/sh"])["Id"]
    try:
        with pytest.raises(docker.errors.ImageNotFound):
            client.inspect_image(built[0])
        assert client.inspect_image(built[1])["Id"] == built[1]
    finally:
        client.remove_container(container)
        client.remove_image(built[1])
