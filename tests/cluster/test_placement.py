"""Dask gives trials that wait at a busy worker to one that has nothing else, also if it comes later; all by TLS."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def certificate(tmp_path: Path, without: Any) -> Path:
    """A certificate of this machine that is its own authority, with its key beside it."""
    if shutil.which("openssl") is None:
        without("openssl", "openssl is not installed")
    made = ("-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made], check=True, capture_output=True)
    return tmp_path / "cert.pem"


def test_a_worker_that_comes_later_takes_trials_that_wait(
    room: Any, make_cluster: Any, reviewing: Any, waiting: Any, certificate: Path
) -> None:
    cluster = make_cluster("w1", slots=1, certificate=certificate)
    files = {"CA_FILE": certificate, "CLIENT__CERT": certificate, "CLIENT__KEY": certificate.with_name("key.pem")}
    room.more = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(path) for name, path in files.items()}
    room.write_settings(asker={"use": "single-shot", "model": "scripted-model"})

    def asked_by(name: str) -> list[Asked]:
        return [asked for asked in room.provider.asked if cluster.key(name) in str(asked.headers)]

    def answer(asked: Asked) -> Reply:
        """Never answer the first worker."""
        return dataclasses.replace(reviewing(asked), delay=300.0 if cluster.key("w1") in str(asked.headers) else 0.0)

    room.provider.script = answer
    cluster.until(there=1)
    run = room.start(*("--reviewer=asker", "-k", "pots-1", "--crab-repeat=3"), f"--crab-cluster={cluster.address}")
    waiting(lambda: asked_by("w1"), "no model was asked")
    cluster.work("w2", slots=1)
    waiting(lambda: len(asked_by("w2")) == 2, "the second worker did not take what waited at the first one")
    cluster.kill("w1")
    output, _ = run.communicate(timeout=240)
    assert run.returncode == 0, output
    assert cluster.address.startswith("tls://")
    assert [trial["versions"]["worker"] for trial in room.trials(".crab/report")] == ["w2"] * 3
    assert len(asked_by("w1")) == 1
