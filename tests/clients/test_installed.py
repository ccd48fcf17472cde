"""Which client is taken: the folder of clients before PATH, the native program before a launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.clients import installed
from pytest_crab.clients.installed import ClientMissing
from pytest_crab.clients.known import KINDS


def program(path: Path, text: bytes = b"#!/bin/sh\necho 9.8.7 '(a client)'\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without clients: an empty folder of them, and an empty PATH."""
    monkeypatch.setenv(installed.VARIABLE, str(tmp_path / "clients"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.mark.parametrize("name", KINDS)
def test_a_missing_client_is_one_sentence_that_says_how_to_get_it(name: str, nowhere: Path) -> None:
    with pytest.raises(ClientMissing) as caught:
        installed.find(name)
    assert f"pytest-crab doctor --install-client {name}" in str(caught.value)
    assert str(nowhere / "clients" / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_folder_goes_before_path(nowhere: Path) -> None:
    modules = nowhere / "clients" / "claude-code" / "node_modules" / "@anthropic-ai"
    own = program(modules / "claude-code-linux-x64" / "claude")
    program(modules / "claude-code" / "bin" / "claude.exe")
    program(nowhere / "bin" / "claude", b"\x7fELF")
    found = installed.find("claude-code")
    assert found.program == own
    assert found.trees == (own.parent,)
    assert found.version == "9.8.7"


def test_behind_a_launcher_on_path_is_the_native_program(nowhere: Path) -> None:
    modules = nowhere / "global" / "lib" / "node_modules"
    launcher = program(modules / "@openai" / "codex" / "bin" / "codex.js", b"#!/usr/bin/env node\n")
    native = program(modules / "@openai" / "codex-linux-x64" / "vendor" / "some-triple" / "bin" / "codex")
    (nowhere / "bin").mkdir()
    (nowhere / "bin" / "codex").symlink_to(launcher)
    found = installed.find("codex")
    assert found.program == native
    assert found.trees == (native.parent.parent,)


def test_a_launcher_without_its_program_is_no_client(nowhere: Path) -> None:
    program(nowhere / "bin" / "codex", b"#!/usr/bin/env node\n")
    with pytest.raises(ClientMissing):
        installed.find("codex")


def test_a_program_of_its_own_on_path_is_one_file(nowhere: Path) -> None:
    own = program(nowhere / "bin" / "claude", b"\x7fELF and so on")
    assert installed.find("claude-code").trees == (own,)


def test_a_python_client_comes_with_its_interpreter(nowhere: Path) -> None:
    venv = nowhere / "clients" / "mini"
    own = program(venv / "bin" / "mini")
    python = program(nowhere / "cpython" / "bin" / "python3.12")
    (nowhere / "cpython" / "lib").mkdir()
    (venv / "bin" / "python3.12").symlink_to(python)
    (venv / "lib" / "python3.12" / "site-packages" / "mini_swe_agent-2.4.6.dist-info").mkdir(parents=True)
    found = installed.find("mini")
    assert found.program == own
    assert found.trees == (venv, python.parent, nowhere / "cpython" / "lib")
    assert found.version == "2.4.6"


def test_a_python_client_on_path_may_be_a_link(nowhere: Path) -> None:
    venv = nowhere / "venvs" / "mini"
    own = program(venv / "bin" / "mini")
    (venv / "lib" / "python3.12" / "site-packages" / "mini_swe_agent-2.4.6.dist-info").mkdir(parents=True)
    (nowhere / "bin").mkdir(exist_ok=True)
    (nowhere / "bin" / "mini").symlink_to(own)
    found = installed.find("mini")
    assert (found.program, found.trees, found.version) == (own, (venv,), "2.4.6")


def test_a_client_that_says_its_version_is_given_nothing_of_the_users(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted")
    seen = nowhere / "seen"
    text = f"#!/bin/sh\n/usr/bin/env > {seen}\npwd >> {seen}\ntest -d $HOME && echo 1.2.3\n"
    program(nowhere / "bin" / "claude", b"\x7fELF")
    own = program(
        nowhere / "clients/claude-code/node_modules/@anthropic-ai/claude-code-linux-x64/claude", text.encode()
    )
    found = installed.find("claude-code")
    assert found.program == own
    assert found.version == "1.2.3"
    *variables, place = seen.read_text().splitlines()
    assert place == "/"
    assert {line.partition("=")[0] for line in variables} <= {"PATH", "HOME", "LANG", "PWD", "_", "SHLVL", "OLDPWD"}
    home = next(line for line in variables if line.startswith("HOME=")).partition("=")[2]
    assert not Path(home).exists()


def test_an_installer_is_given_proxies_and_indexes_and_no_key(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = nowhere / "seen"
    program(nowhere / "bin" / "npm", f"#!/bin/sh\n/usr/bin/env > {seen}\n".encode())
    needed = ("https_proxy", "NO_PROXY", "npm_config_registry", "NPM_CONFIG_CAFILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT")
    secret = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "CI_JOB_TOKEN", "MY_PIP")
    for name in (*needed, *secret):
        monkeypatch.setenv(name, f"of-{name}")
    with pytest.raises(ClientMissing):  # it installs nothing
        installed.install("codex")
    variables = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert {*needed, "PATH", "HOME"} <= variables
    assert not {*secret} & variables


def test_an_installer_that_is_not_there_is_named(nowhere: Path) -> None:
    with pytest.raises(ClientMissing, match="codex could not be installed: npm does not run"):
        installed.install("codex")


@pytest.mark.parametrize("name", KINDS)
def test_versions_are_pinned(name: str) -> None:
    for package in KINDS[name].packages:
        assert package.rpartition("@")[2].count(".") == 2 or "==" in package


@pytest.mark.parametrize("name", [pytest.param("codex", marks=pytest.mark.node), "mini"])
def test_an_installer_that_reaches_nobody_says_so(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(installed.VARIABLE, str(tmp_path / "clients"))
    nobody = {"NPM_CONFIG_REGISTRY": "http://127.0.0.1:9", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    for variable, value in {**nobody, "NPM_CONFIG_FETCH_RETRIES": "0", "PIP_RETRIES": "1"}.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ClientMissing, match=f"{name} could not be installed: (npm|pip) said .*refused|ECONNREFUSED"):
        installed.install(name)


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        (
            "npm error code E404\nnpm error 404 Not Found - GET http://x/codex\nnpm error A complete log of",
            "404 Not Found",
        ),
        ("npm error code ETARGET\nnpm error notarget No matching version found for codex@99.\n", "No matching version"),
        (
            "npm error code EACCES\nnpm error syscall mkdir\nnpm error Error: EACCES: permission denied\n",
            "permission denied",
        ),
        ("ERROR: Could not find a version that fits\nERROR: No matching distribution found\n", "Could not find"),
        ("Killed\n", "Killed"),
    ],
)
def test_the_line_that_tells_the_cause_is_shown(printed: str, cause: str) -> None:
    assert cause in installed._cause(printed, "")
