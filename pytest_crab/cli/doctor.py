"""The doctor command: what of this machine a run can use, and a base image for where no registry answers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten

import click

from pytest_crab import ecosystems, systems
from pytest_crab.clients import installed
from pytest_crab.clients.known import KINDS
from pytest_crab.commands import printed_version
from pytest_crab.ecosystems import interpreters, uv_cli
from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.ecosystems.toolchain import Tools, numbers
from pytest_crab.errors import CrabError, ReviewerError
from pytest_crab.reviewers.linter import version_of
from pytest_crab.runtimes import RuntimeSettings, bubblewrap, cgroups
from pytest_crab.runtimes.slots import Slots
from pytest_crab.sources.requirements import OLDEST_GIT

#: Environment variables that hold keys of model providers; only whether they are set is ever told.
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DEVIN_API_KEY", "GITHUB_TOKEN")
_BASE = RuntimeSettings().base_image
_TOOLS = {tools.name: tools for tools in ecosystems.tools()}


@click.command(name="doctor")
@click.option("--build-base", is_flag=True, help="Build a base image here, for machines where no registry answers.")
@click.option(
    interpreters.OPTION, "version", metavar="X.Y", help="The CPython of the base image; the running one's if not given."
)
@click.option(
    "--ecosystem", "tools", metavar="NAME", type=click.Choice(_TOOLS),
    help="Build the base image for the tools of this ecosystem, out of those on PATH.",
)  # fmt: skip
@click.option("--version", "wanted", metavar="X[.Y]", help="The version of these tools; what is on PATH if not given.")
@click.option(
    "--from", "origin", type=click.Choice(["cpython", "debian"]),
    help="Make the base image of this machine's own CPython or of Debian packages; the first that can if not given.",
)  # fmt: skip
@click.option(
    "--install-client", "clients", metavar="NAME", multiple=True, type=click.Choice(sorted(KINDS)),
    help="Install this client into the folder of clients, in the version that was tested; repeatable.",
)  # fmt: skip
@click.option(
    "--call", "calls", metavar="PROVIDER:MODEL", multiple=True, help="Send this model a short test request; repeatable."
)
@click.option(
    "--base", default=_BASE, show_default=True, help=f"The base image to look for; {interpreters.HOLE} is X.Y."
)
def doctor(
    *,
    build_base: bool,
    version: str | None,
    tools: str | None,
    wanted: str | None,
    origin: str | None,
    clients: tuple[str, ...],
    calls: tuple[str, ...],
    base: str,
) -> None:
    """Report what a run can use on this machine: engine, base image, sandbox, slots, clients, and keys by name only."""
    if build_base:
        if tools is not None and origin == "debian":
            raise click.UsageError("--ecosystem makes the base image of this machine's own tools and CPython")
        _build(version or running_version(), origin, tools, wanted)
        return
    if clients:
        _install(clients)
        return
    rows = [
        *_system(),
        *_engine(base, version),
        *_sandbox(),
        *_slots(),
        *_clients(),
        *_interpreters(),
        *_toolchains(),
        *_git(),
        *_linters(),
        *_keys(),
        *_calls(calls),
    ]
    width = max(len(name) for name, _ in rows)
    for name, state in rows:
        click.echo(f"{name:<{width}}  {state}")


def _system() -> list[tuple[str, str]]:
    lacking = systems.shortcomings()
    return [("system", f"yes: {systems.description()}" if lacking is None else f"partly: {lacking}")]


def _build(version: str, origin: str | None, name: str | None, wanted: str | None) -> None:
    from pytest_crab.runtimes.base_images import build_base, build_tools_base
    from pytest_crab.runtimes.engine import Engine
    from pytest_crab.runtimes.run_lock import RunFolder

    engine = Engine(RunFolder(), timeout=600)
    try:
        with engine.calling("building a base image") as client:
            if name is None:
                _, said = build_base(client, version, origin=origin)
            else:
                tools = _TOOLS[name]
                _, said = build_tools_base(client, tools, wanted or tools.find("").minor, version)
    finally:
        engine.close()
    click.echo(said)


def _engine(base: str, version: str | None) -> list[tuple[str, str]]:
    from pytest_crab.runtimes.docker_status import look

    status = look(base, version)
    if status.version is None:
        return [("docker engine", f"no: {status.problem}"), ("base image", "unknown: no engine answers")]
    if status.found and status.old:
        state = f"old: {status.found} was made by another version; build it again with --build-base"
    elif status.found:
        state = f"yes: {status.found}"
    else:
        state = f"no: neither of {', '.join(status.wanted)} is here; a run pulls the first, or use --build-base"
    return [
        ("docker engine", f"yes: version {status.version}"),
        ("base image", state),
        ("bases of tools", _tools_bases()),
    ]


def _tools_bases() -> str:
    from pytest_crab.runtimes.docker_status import tools_bases

    bases = tools_bases(_TOOLS.values())
    here = [base for found in bases.values() for base in found]
    none = [name for name, found in bases.items() if not found and _TOOLS[name].makes_base]
    lacking = f"none for {', '.join(none)}: a run pulls it, or use --build-base --ecosystem NAME"
    return "; ".join([*([f"yes: {', '.join(here)}"] if here else []), *([lacking] if none else [])])


def _sandbox() -> list[tuple[str, str]]:
    reason = bubblewrap.problem()
    limits = "yes" if cgroups.available() else "no: the local runtime limits memory per process only"
    advice = "" if shutil.which("bwrap") else "; apt-get install bubblewrap"
    return [("bubblewrap", "yes" if reason is None else f"no: {reason}{advice}"), ("control groups", limits)]


def _slots() -> list[tuple[str, str]]:
    slots = Slots()
    try:
        return [("slots", f"{slots.count_held()} in use of {slots}")]
    except (CrabError, OSError) as error:
        return [("slots", f"no: {error}")]


def _install(names: tuple[str, ...]) -> None:
    for name in names:
        client = installed.install(name)
        click.echo(f"{name} {client.version} is installed in {installed.folder() / name}")


def _clients() -> list[tuple[str, str]]:
    rows = []
    for name in KINDS:
        try:
            client = installed.find(name)
            rows.append((name, f"yes: {client.version} at {client.program}"))
        except CrabError as error:
            rows.append(
                (name, f"no: {error}" if installed.is_there(name) else f"no: --install-client {name} installs it")
            )
    return rows


def _calls(asked: tuple[str, ...]) -> list[tuple[str, str]]:
    """Ask models; nothing is asked that was not named, since a call costs money."""
    if not asked:
        return []
    from pytest_crab.cli.model_call import call
    from pytest_crab.settings import load_settings

    settings = load_settings(Path.cwd()).models
    return [(each, call(each, settings)) for each in asked]


def _interpreters() -> list[tuple[str, str]]:
    found = [one.full for version in interpreters.RELEASED if (one := interpreters.find(version))]
    try:
        dated = f"yes: {uv_cli.program()}"
    except CrabError as error:
        dated = f"no: {error}"
    here = f"yes: {', '.join(found)}" if found else "no: there is none that uv or pyenv knows, nor one on PATH"
    return [(ecosystems.DEFAULT.name, here), ("uv", dated)]


def _toolchains() -> list[tuple[str, str]]:
    return [(one.tools.name, _tools_row(one.tools, one.oldest)) for one in ecosystems.installed() if one.tools]


def _tools_row(tools: Tools, oldest: str) -> str:
    found = tools.here()
    if found is None:
        return f"no: {tools.absence()}"
    if numbers(found.version) < numbers(oldest):
        return f"old: {found.version}; {oldest} or later is needed; {tools.source}"
    lacking = "; ".join(tools.lacks())
    return f"partly: {found.version}, but {lacking}" if lacking else f"yes: {found.version} at {found.program}"


def _git() -> list[tuple[str, str]]:
    place = shutil.which("git")
    if place is None:
        return [("git", "no: not on PATH; apt-get install git")]
    try:
        version = printed_version((str(Path(place).absolute()), "--version"), "/").partition("\n")[0]
    except (OSError, subprocess.SubprocessError) as error:
        return [("git", f"no: it does not run ({error}); install it again")]
    old = f"old: {version}; {OLDEST_GIT} or later is needed"
    return [("git", old if _is_old(version) else f"yes: {shorten(version, 100, placeholder=' …')}")]


def _is_old(git: str) -> bool:
    found = re.search(r"(\d+)\.(\d+)", git)
    return found is not None and (int(found[1]), int(found[2])) < tuple(map(int, OLDEST_GIT.split(".")))


def _linters() -> Iterator[tuple[str, str]]:
    """Yield rows of those linters that bring their own program."""
    for linter in (one.linter for one in ecosystems.installed() if one.linter and not one.linter.is_of_environment):
        try:
            version = version_of(linter)
        except ReviewerError as error:
            yield linter.program, f"no: {error}"
        else:
            yield linter.program, f"no: not on PATH; {linter.source}" if version is None else f"yes: {version}"


def _keys() -> list[tuple[str, str]]:
    return [(name, "set" if os.environ.get(name) else "not set") for name in KEYS]
