"""The doctor command: what of this machine a run can use, and a base image for where no registry answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click

from pytest_crab.errors import CrabError
from pytest_crab.runtimes import DEFAULT_BASE
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes import cgroups
from pytest_crab.runtimes.interpreters import running_version

#: Environment variables that hold keys of model providers; only whether they are set is ever told.
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DEVIN_API_KEY", "GITHUB_TOKEN")
CLIENTS = ("claude", "codex", "pr-agent", "mini", "ruff", "git")


@click.command(name="doctor")
@click.option("--build-base", is_flag=True, help="Build a base image here, for machines where no registry answers.")
@click.option(
    "--python", "version", metavar="X.Y", help="The Python of the base image; the running one's if not given."
)
@click.option(
    "--from", "origin", type=click.Choice(["cpython", "debian"]),
    help="Make the base image of this machine's own CPython or of Debian packages; the first that can if not given.",
)  # fmt: skip
@click.option("--base", default=DEFAULT_BASE, show_default=True, help="The base image to look for; {python} is X.Y.")
def doctor(*, build_base: bool, version: str | None, origin: str | None, base: str) -> None:
    """Say what of this machine a run can use: engine, base image, sandbox, clients, and keys by name only."""
    if build_base:
        _build(version or running_version(), origin)
        return
    rows = [*_engine(base, version), *_sandbox(), *_programs(), *_keys()]
    width = max(len(name) for name, _ in rows)
    for name, state in rows:
        click.echo(f"{name:<{width}}  {state}")


def _build(version: str, origin: str | None) -> None:
    from pytest_crab.runtimes.base import build_base
    from pytest_crab.runtimes.engine import Engine
    from pytest_crab.runtimes.runs import Run

    engine = Engine(Run(), timeout=600)
    try:
        with engine.calling("building a base image") as client:
            _, said = build_base(client, version, origin=origin)
    except CrabError as error:
        raise click.ClickException(str(error)) from error
    finally:
        engine.close()
    click.echo(said)


def _engine(base: str, version: str | None) -> list[tuple[str, str]]:
    from pytest_crab.runtimes.presence import look

    presence = look(base, version)
    if presence.version is None:
        return [("docker engine", f"no: {presence.problem}"), ("base image", "unknown: no engine answers")]
    absent = f"no: neither of {', '.join(presence.wanted)} is here; a run pulls the first, or use --build-base"
    return [
        ("docker engine", f"yes: version {presence.version}"),
        ("base image", f"yes: {presence.found}" if presence.found else absent),
    ]


def _sandbox() -> list[tuple[str, str]]:
    reason = bubblewrap.problem()
    limits = "yes" if cgroups.available() else "no: the local runtime limits memory per process only"
    return [("bubblewrap", "yes" if reason is None else f"no: {reason}"), ("control groups", limits)]


def _programs() -> list[tuple[str, str]]:
    rows = []
    for program in CLIENTS:
        place = shutil.which(
            program, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        )
        rows.append((program, f"yes: {_version(place)}" if place else "no: not on PATH"))
    return rows


def _version(place: str) -> str:
    try:
        done = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return "does not run"
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0][:60] if lines else "says no version"


def _keys() -> list[tuple[str, str]]:
    return [(name, "set" if os.environ.get(name) else "not set") for name in KEYS]
