"""Images of instances: made once per content digest, from a Dockerfile and a build context, on a base image."""

from __future__ import annotations

import dataclasses
import importlib.resources
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests.exceptions

from pytest_crab import ecosystems, serialization
from pytest_crab.ecosystems import interpreters
from pytest_crab.ecosystems.building import PackageRoute, install_script
from pytest_crab.ecosystems.toolchain import Tool, version_in
from pytest_crab.errors import ImageError
from pytest_crab.lazy import lazy
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import ORACLE_LIMITS, OWN_PLACES, Command, Snapshot
from pytest_crab.runtimes import build_failures, run_lock
from pytest_crab.runtimes.build_log import BuildLog
from pytest_crab.runtimes.build_pins import build_constraints
from pytest_crab.runtimes.container_exec import run_main
from pytest_crab.runtimes.engine import Engine, first_line, inspect_image
from pytest_crab.runtimes.environment_use import EnvironmentsInUse
from pytest_crab.runtimes.environments import CACHES, packages_of
from pytest_crab.runtimes.slots import Slots, one_builder
from pytest_crab.types import Environment, Instance

FACTS_LABEL = "pytest-crab.facts"
KEY_LABEL = "pytest-crab.key"
#: How many rows of an image's history are its base's.
BELOW_LABEL = "pytest-crab.below"
#: Which user of which machine built an image; of its own, since containers inherit the labels of their image.
BUILDER_LABEL = "pytest-crab.builder"
_ROUTE = "/opt/crab/route/ca.crt"
#: What isolated builds may take, in an image that is built.
_CONSTRAINTS = "/opt/crab/route/build-constraints.txt"
#: What programs that fetch leave in their home is in no image: no run would see it.
_OWN_HOME = """\
crab_home=$(mktemp -d)
export HOME="$crab_home"
trap 'rm -rf "$crab_home"' EXIT
"""
_FACTS = f"""\
{program_text("pytest_crab.runtimes.inside", "compiled")}
import json, shutil, subprocess, sys, sysconfig
sites = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
try:
    import site
    sites += site.getsitepackages()
except (ImportError, AttributeError):
    pass
seen = [path for number, path in enumerate(sites) if path not in sites[:number]]
found = {{{ecosystems.DEFAULT.name!r}: sys.executable, "site": seen, "version": sys.version.split()[0]}}
found["compiled"] = compiled_modules(
    {f"{OWN_PLACES['trees']}/tree"!r}, {ecosystems.COMPILED!r}, {ecosystems.DEFAULT_SUFFIX!r}
)
found["tools"] = {{}}
for name, program, arguments in json.loads(sys.argv[1]):
    place = shutil.which(program)
    if place:
        found["tools"][name] = [place, subprocess.check_output([place, *arguments]).decode()]
print(json.dumps(found))
"""


def builder() -> str:
    """This user of this machine, as the images say that they built."""
    return f"{os.getuid()}.{run_lock.machine_id()}"


def find_dockerfile(name: str, rootdir: Path) -> str:
    """The text of ``<name>.Dockerfile``: in the rootdir's ``dockerfiles/``, as shipped, or of the ecosystem so named.

    Raises ImageError.
    """
    file = f"{name}.Dockerfile"
    own = rootdir / "dockerfiles" / file
    if own.is_file():
        return own.read_text(encoding="utf-8")
    shipped = importlib.resources.files("pytest_crab") / "dockerfiles" / file
    if shipped.is_file():
        return shipped.read_text(encoding="utf-8")
    brought = next((one.dockerfile for one in ecosystems.installed() if one.name == name), None)
    if brought is not None:
        return brought
    raise ImageError(
        f"there is no {file}, neither in {own.parent} nor among those that come with pytest-crab or an ecosystem's "
        "package; write one, or use the local runtime"
    )


def wanted_bases(environment: Environment, base: str) -> list[str]:
    """The names of the image that an environment is built on: the first is pulled where none of them is here."""
    if environment.image is not None:
        return [environment.image]
    ecosystem = ecosystems.ecosystem_of(environment)
    if ecosystem.tools is not None:
        version = ecosystem.version(environment)
        names = (ecosystem.tools.public_base, *([ecosystem.tools.local_base] if ecosystem.tools.makes_base else []))
        return [name.format(version=version) for name in names]
    return interpreters.bases(base, interpreters.version_of(environment))


def _build_option(names: Sequence[str]) -> str:
    """Return the option of doctor --build-base that makes the second of these images."""
    name, _, version = names[1].rpartition("/")[2].partition(":")
    kind = name.removeprefix("pytest-crab-")
    own = name == interpreters.LOCAL_BASE.partition(":")[0]
    return interpreters.base_option(version) if own else f"--ecosystem {kind} --version {version}"


def repository_of(instance: str) -> str:
    """Return the repository name of all images of an instance, whatever they were made of."""
    return f"pytest-crab/{_slug(instance)}"


class Images:
    """Finds and builds the images of instances through one engine."""

    def __init__(self, engine: Engine, slots: Slots, *, rootdir: Path, base: str) -> None:
        self._engine = engine
        self._slots = slots
        self._rootdir = rootdir
        self._base = base
        self._bases: dict[str, tuple[str, str]] = {}
        self._published: dict[str, bool] = {}
        self._has_registry = True
        self.holds = EnvironmentsInUse(engine.run)

    def dockerfile(self, instance: Instance) -> str:
        """The Dockerfile's text that this instance is built with."""
        return find_dockerfile(instance.required_environment.dockerfile or "image", self._rootdir)

    def base(self, instance: Instance) -> tuple[str, str]:
        """Name and id of the image that this instance's is built on; pulled when it is not here. Raises ImageError."""
        wanted = wanted_bases(instance.required_environment, self._base)
        if wanted[0] not in self._bases:
            with one_builder(
                serialization.digest(["base", wanted[0]]), self._engine.check
            ):  # a pull keeps no other base waiting
                if wanted[0] not in self._bases:
                    self._bases[wanted[0]] = self._resolve(wanted)
        return self._bases[wanted[0]]

    def has_base(self, version: str) -> bool:
        """Return whether a base image of CPython X.Y is here or in the registry.

        Raises EngineError, ImageError, Cancelled.
        """
        names = interpreters.bases(self._base, version)
        if names[0] == self._base:
            return self._version_of_base == version
        return any(self._id(name) is not None for name in names) or self._is_published(names[0])

    @lazy
    def _version_of_base(self) -> str:
        """The X.Y of a base image that is the same for all."""
        found = self._resolve([self._base])[1]
        return ".".join(str(self._look_inside(self._base, found)["version"]).split(".")[:2])

    def _is_published(self, name: str) -> bool:
        """Return whether the registry has an image, which registries count as pulls: each is asked for once.

        A registry that did not answer is not asked again.
        """
        if name not in self._published and self._has_registry:
            try:
                self._engine.client.inspect_distribution(name)  # type: ignore[no-untyped-call]
                self._published[name] = True
            except docker.errors.NotFound:
                self._published[name] = False
            except (docker.errors.DockerException, requests.exceptions.RequestException):
                self._has_registry = False
        return self._published.get(name, False)

    def _resolve(self, names: list[str]) -> tuple[str, str]:
        for name in names:
            found = self._id(name)
            if found is not None:
                return name, found
        try:
            self._engine.client.pull(names[0])
        except docker.errors.DockerException as error:
            advice = (
                f"build one with pytest-crab doctor --build-base {_build_option(names)}, or use the local runtime; "
                if names[1:]
                else ""
            )
            raise ImageError(
                f"the image {names[0]} is not here and cannot be pulled: {advice}the engine says: {first_line(error)}",
                of_machine=not isinstance(error, docker.errors.NotFound),
            ) from error
        found = self._id(names[0])
        if found is None:
            raise ImageError(f"the image {names[0]} was pulled and is not here")
        return names[0], found

    def _id(self, name: str) -> str | None:
        with self._engine.calling(f"looking for the image {name}") as client:
            image = inspect_image(client, name)
        return None if image is None else str(image["Id"])

    def prepare(self, instance: Instance, snapshot: Snapshot, key: str) -> tuple[str, dict[str, Any]]:
        """Name and facts of the instance's image, found or built. Raises ImageError, EngineError, Cancelled."""
        name = f"{repository_of(instance.id)}:{key[:32]}"
        self.holds.take(instance.id, key)
        facts, built = self._facts(name), False
        if facts is None:
            with one_builder(key, self._engine.check), self._slots.take(self._engine.stopped):
                facts = self._facts(name)
                if facts is None:
                    facts, built = self._build(instance, snapshot, key, name), True
        return name, {**facts, "built": built}

    def _facts(self, name: str) -> dict[str, Any] | None:
        with self._engine.calling(f"looking for the image {name}") as client:
            image = inspect_image(client, name)
        labels = (image or {}).get("Config", {}).get("Labels") or {}
        return dict(json.loads(labels[FACTS_LABEL])) if FACTS_LABEL in labels else None

    def _build(self, instance: Instance, snapshot: Snapshot, key: str, name: str) -> dict[str, Any]:
        route = PackageRoute.here()
        arguments = {"BASE": self.base(instance)[0], "WORKDIR": instance.required_environment.workdir}
        arguments["SYSTEM"] = " ".join(instance.required_environment.system)
        if (
            instance.required_environment.resolved is not None
        ):  # every package is named, and some are left out on purpose
            arguments["PIP_OPTIONS"] = "--no-deps"
        index = route.public_index()
        if index is not None:
            arguments["PIP_INDEX_URL"] = index
        if route.bundle is not None:
            arguments.update(dict.fromkeys(("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), _ROUTE))
        tools = ecosystems.ecosystem_of(instance.required_environment).tools
        if tools is not None:
            arguments.update(tools.build_arguments(_ROUTE))
        # The engine knows these names: a build has them, and neither the image nor its history does.
        arguments = {name: text for name, text in arguments.items() if name not in route.proxies}
        arguments.update(route.proxies_of_containers())
        with self._engine.run.scratch() as scratch:
            archive = scratch / "context.tar"
            snapshot.clone(scratch / "tree")
            constraints = build_constraints(instance.required_environment, snapshot)
            _pack(archive, scratch / "tree", self.dockerfile(instance), instance, route, constraints)
            with archive.open("rb") as context:
                built = self._run_build(instance, context, arguments)
        facts = self._look_inside(instance.id, built)
        below = str(self._rows(arguments["BASE"]))
        labels = {FACTS_LABEL: json.dumps(facts), KEY_LABEL: key, BELOW_LABEL: below, BUILDER_LABEL: builder()}
        labelled = f"FROM {built}\nLABEL {' '.join(f'{name}={json.dumps(text)}' for name, text in labels.items())}\n"
        self._run_build(instance, _only_dockerfile(labelled), {}, tag=name)
        return facts

    def _rows(self, image: str) -> int:
        """Return the number of rows in an image's history, which are those below an image that is built on it."""
        with self._engine.calling(f"reading the history of {image}") as client:
            return len(client.history(image))  # type: ignore[no-untyped-call]

    def _run_build(self, instance: Instance, context: Any, arguments: Mapping[str, str], tag: str | None = None) -> str:
        log = BuildLog()
        with self._engine.calling(f"building the image of {instance.id}") as client:
            events = client.build(
                fileobj=context,
                custom_context=True,
                buildargs=dict(arguments),
                tag=tag,
                rm=True,
                forcerm=True,
                decode=True,
            )
            for event in events:
                self._engine.check()
                error = log.take(event)
                if error is not None:
                    raise log.failure(instance.id, error)
        if log.built is None:
            raise log.failure(instance.id, "the engine named no image")
        return log.built

    def _look_inside(self, what: str, image: str) -> dict[str, Any]:
        asked = [(tools.name, tools.program, tools.version_arguments) for tools in ecosystems.tools()]
        command = Command(argv=("sh", "-c", interpreters.FIND, _FACTS, json.dumps(asked)), user="root")
        with self._engine.container(image, command, limits=ORACLE_LIMITS, workdir=None) as container:
            done = run_main(self._engine, container, b"", seconds=60)
        if done.exit_code != 0:
            raise ImageError(f"{what}: the image has no CPython that works: {build_failures.brief(done)}")
        return dict(json.loads(done.stdout))


def tools_in(found: Mapping[str, Sequence[str]], environment: Environment) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tools of an image by name that an environment is for, or that runners of its oracles may need.

    ``found`` is where each lies, and what it prints as its version. Others play no part: any image may have a compiler.
    """
    own = ecosystems.ecosystem_of(environment)
    for one in ecosystems.installed():
        tools = one.tools if one is own or (own.tools is None and one.installed_runners) else None
        program, said = ("", "") if tools is None else found.get(tools.name, ("", ""))
        version = version_in(said)
        if tools is not None and version is not None:
            tool = tools.placed(Tool(name=tools.name, version=version, program=program), CACHES)
            yield tools.name, dataclasses.asdict(tool)


def _pack(
    archive: Path, tree: Path, dockerfile: str, instance: Instance, route: PackageRoute, constraints: str | None
) -> None:
    environment = instance.required_environment
    tools = ecosystems.ecosystem_of(environment).tools
    packages = packages_of(environment) if tools is None else ()
    dated = None if constraints is None else _CONSTRAINTS
    script = install_script(environment, dated) if tools is None else tools.build_script(environment)
    texts = {
        "Dockerfile": dockerfile,
        "packages.txt": "".join(f"{package}\n" for package in packages),
        "install.sh": f"{_OWN_HOME}{script}",
        "route/README": "What this machine needs to reach packages while an image is built.\n",
    }
    with tarfile.open(archive, "w") as tar:
        for name, text in texts.items():
            _add(tar, name, text.encode())
        if constraints is not None:
            _add(tar, "route/build-constraints.txt", constraints.encode())
        if route.bundle is not None:
            _add(tar, "route/ca.crt", route.bundle.read_bytes())
        tar.add(tree, arcname="tree", filter=_as_root)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    member.mode = 0o644
    tar.addfile(member, io.BytesIO(content))


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mode |= 0o755 if member.isdir() else 0o444
    return member


def _only_dockerfile(text: str) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        _add(tar, "Dockerfile", text.encode())
    buffer.seek(0)
    return buffer


def _slug(instance: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", instance.lower()).strip("-")[:80] or "instance"
