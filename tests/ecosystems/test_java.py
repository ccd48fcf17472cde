"""The Maven of this machine: where it may lie, and what it is told when an environment is built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_crab.ecosystems.java import tools
from pytest_crab.ecosystems.toolchain import Tool
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment


def put_program(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)


def test_maven_is_bound_where_a_link_leads_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_SEEN", str(tmp_path))
    tool = Tool(name="java", version="17.0.15", program=str(tmp_path / "jdk/bin/javac"))
    with pytest.raises(ImageError, match="mvn"):
        tools.JavaTools().find("17")
    put_program(tmp_path / "maven/bin/mvn", "exit")
    (tmp_path / "mvn").symlink_to("maven/bin/mvn")
    bound = tools.JavaTools().binds(tool)
    assert set(bound) == {str(tmp_path / "maven"), str(tmp_path / "jdk")}


def test_a_build_tells_maven_of_the_proxy(tmp_path: Path) -> None:
    put_program(tmp_path / "bin/mvn", 'echo "$JAVA_TOOL_OPTIONS"; exit 1')
    script = tools.JavaTools().build_script(Environment(ecosystem="java", version="17", install=("mvn install",)))
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HTTPS_PROXY": "http://me:word@proxy.example:3128/"}
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["-Dhttps.proxyHost=proxy.example", "-Dhttps.proxyPort=3128"]
