"""Environments of the local runtime: one virtual environment per set of pins, one built tree per instance's content."""

from __future__ import annotations

import dataclasses
import email
import functools
import importlib.metadata
import json
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab import ecosystems, serialization
from pytest_crab.ecosystems import interpreters, uv_cli
from pytest_crab.ecosystems.building import PackageRoute, install_script
from pytest_crab.ecosystems.python import WITHOUT_OURS, WITHOUT_PLUGINS
from pytest_crab.ecosystems.python.inside import bytecode
from pytest_crab.ecosystems.toolchain import Tool, numbers
from pytest_crab.errors import ImageError
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import INSTALL_LIMITS, INSTALL_SECONDS, OWN_PLACES, Command, Completed, Snapshot
from pytest_crab.runtimes import build_failures, seeds
from pytest_crab.runtimes.bubblewrap import View
from pytest_crab.runtimes.build_pins import build_constraints
from pytest_crab.runtimes.environments import (
    CACHES,
    PYTEST_ALONE,
    WORKSPACE_ENV,
    packages_of,
    pins_nothing,
)
from pytest_crab.runtimes.git_route import GitRoute, git_route
from pytest_crab.runtimes.inside.compiled import compiled_modules
from pytest_crab.runtimes.run_lock import remove_folder
from pytest_crab.runtimes.slots import one_builder
from pytest_crab.types import Environment, Instance

TREE = f"{OWN_PLACES['trees']}/tree"
DISTRIBUTIONS = f"{OWN_PLACES['trees']}/distributions.txt"
#: The bytecode of a tree's modules: a folder of the environment, and its place in a sandbox.
BYTECODE = "bytecode"
BYTECODE_PLACE = f"{OWN_PLACES['trees']}/bytecode"
#: Trees with fewer bytes of modules are compiled in less time than a program needs to start.
_WORTH_COMPILING = 1 << 18
#: The first Python whose bytecode can have the digest of its source.
_DIGESTS = (3, 7)
#: The file in a virtual environment with what its isolated builds may take.
_CONSTRAINTS = "build-constraints.txt"
#: Ends the name of an environment's folder while it is being built.
NEW = ".new"
#: The file of an environment's folder that names the instances which took it.
_INSTANCES = "instances"
#: Interpreters there are part of what every sandbox sees of the system.
_SYSTEM_PREFIXES = ("/usr", "/usr/local")
#: The words by which an interpreter makes a virtual environment in the folder that comes after them.
VENV = ("-m", "venv")

#: Lets an installer that meets the limit of a file say so: the signal would end it without a word.
_OUTSPOKEN = 'trap "" XFSZ'

#: The program that compiles a tree's modules; see inside/bytecode.py.
_COMPILE = program_text("pytest_crab.ecosystems.python.inside", "bytecode")

#: Imports what the harness imports of pytest, which leaves its bytecode beside it.
_IMPORT = """\
import sys
sys.path.insert(0, sys.argv[1])
import importlib, pytest, _pytest.config
for name in _pytest.config.default_plugins:
    importlib.import_module("_pytest." + name)
"""

#: Runs one command of the builder's in a view (or without any, where nothing is confined); its end.
Builder = Callable[[View, Command, float], Completed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The paths of an environment's parts."""

    #: The program that the harness starts in, as a place inside.
    interpreter: str
    site: tuple[str, ...]
    version: str
    #: Places on the host by place inside.
    binds: Mapping[str, str]
    masked: tuple[str, ...]
    venv: str | None = None
    tool: Tool | None = None
    #: The paths of the modules that the install compiled in the tree.
    compiled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The interpreter for an environment."""

    #: Whether it is the running one with its packages; False: it is one to make an environment with.
    running: bool
    interpreter: interpreters.Interpreter
    #: With a tool the running interpreter is there for the harness alone.
    tool: Tool | None = None

    def identity(self, environment: Environment) -> dict[str, Any]:
        """Plain data that decides what the interpreter and its packages are."""
        if self.tool is not None:
            return {"kind": self.tool.name, "version": self.tool.version, "python": self.interpreter.full,
                    "platform": self.interpreter.platform, "packages": list(environment.packages)}  # fmt: skip
        packages = _installed_packages() if self.running else packages_of(environment)
        kind = "running" if self.running else "venv"
        resolved = {"resolved": environment.resolved} if environment.resolved is not None else {}
        copied = {"copied": _pytest_records()} if _has_copy(self) else {}
        return {"kind": kind, "version": self.interpreter.full, "platform": self.interpreter.platform,
                "packages": list(packages), **resolved, **copied}  # fmt: skip


def choose(instance: Instance) -> Chosen:
    """The interpreter for an instance. Raises ImageError where this machine has not what it asks for."""
    environment = instance.required_environment
    ecosystem = ecosystems.ecosystem_of(environment)
    if environment.image is not None or environment.dockerfile != ecosystem.name:
        wanted = environment.image or f"{environment.dockerfile}.Dockerfile"
        raise ImageError(f"{instance.id}: its environment is {wanted}, which only the docker runtime can build")
    if environment.system:
        packages = ", ".join(environment.system)
        raise ImageError(
            f"{instance.id}: it needs the Debian packages {packages}, which only the docker runtime installs: use it, "
            f"or install them on this machine (apt-get install {' '.join(environment.system)}) and take them out of "
            "environment.system"
        )
    tools = ecosystem.tools
    version = interpreters.version_of(environment) if tools is None else interpreters.running_version()
    found = interpreters.find(version)
    if found is None:
        lack = f"there is no CPython {version} on PATH or in pyenv's folder; install it"
        raise ImageError(f"{instance.id}: {lack}", of_machine=True)
    if tools is not None:
        try:
            return Chosen(running=True, interpreter=found, tool=tools.find(ecosystem.version(environment) or ""))
        except ImageError as error:
            raise ImageError(f"{instance.id}: {error}", of_machine=error.of_machine) from error
    # Authored trees run in seconds and without a network; other people's code gets what is pinned and nothing else.
    own_tree = instance.source.tree is not None and environment.resolved is None
    running = own_tree and pins_nothing(environment) and version == interpreters.running_version()
    return Chosen(running=running, interpreter=found)


@functools.lru_cache(maxsize=1)
def _installed_packages() -> tuple[str, ...]:
    texts = (  # the last is of metadata that is one file, as distutils and Debian leave it
        found.read_text("METADATA") or found.read_text("PKG-INFO") or found.read_text("")
        for found in importlib.metadata.distributions()
    )
    heads = [email.message_from_string((text or "").partition("\n\n")[0]) for text in texts]  # descriptions are long
    return tuple(sorted({f"{head['Name']}=={head['Version']}" for head in heads}))


@functools.lru_cache(maxsize=1)
def _pytest_records() -> str:
    """Return the digest of what this environment's pytest and its needs consist of."""
    found = []
    for name in sorted(PYTEST_ALONE):
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(importlib.metadata.distribution(name).read_text("RECORD"))
    return serialization.digest(found)


def running_layout(interpreter: interpreters.Interpreter) -> Layout:
    """The interpreter that runs this, with the packages that it has."""
    own = (sys.prefix, sys.base_prefix, str(Path(os.path.realpath(sys.executable)).parent.parent))
    prefixes = set(map(_without_dots, own))
    binds = {prefix: prefix for prefix in prefixes if prefix not in (*_SYSTEM_PREFIXES, "/")}
    site = tuple(dict.fromkeys(_without_dots(sysconfig.get_path(name)) for name in ("purelib", "platlib")))
    masked = _masked_places(interpreter) if sys.prefix != sys.base_prefix else ()
    return Layout(
        interpreter=_without_dots(sys.executable), site=site, version=interpreter.full, binds=binds, masked=masked
    )


def _without_dots(path: str) -> str:
    """Return a path without ``..``: in a sandbox the folders before it are not there. Later links stay."""
    head, dots, tail = path.rpartition("/../")
    return f"{os.path.realpath(f'{head}/..')}/{tail}" if dots else path


def workspace_env(folder: Path) -> dict[str, str]:
    """Return the variables of a contestant's commands in the environment of this folder. Raises ImageError."""
    return {**WORKSPACE_ENV, **(WITHOUT_OURS if read(folder).venv is None else {})}


def command_env(layout: Layout) -> dict[str, str]:
    """Return the variables of the project's own commands where the packages are the running interpreter's."""
    return dict(WITHOUT_PLUGINS) if layout.venv is None and layout.tool is None else {}


def compiled_layout(
    cache: Path, instance: Instance, chosen: Chosen, build: Builder, check: Callable[[], None]
) -> Layout:
    """The running interpreter's layout, with a compiled copy of its pytest ahead where its own is not compiled.

    Else each sandbox compiles pytest anew: uv compiles nothing, and PYTHONDONTWRITEBYTECODE keeps Python from it.
    Raises ImageError, Cancelled.
    """
    layout = running_layout(chosen.interpreter)
    if not _has_copy(chosen):
        return layout
    folder = cache / "venvs" / _venv_key(instance, chosen)
    if not (folder / "complete").exists():
        with one_builder(f"venv-{folder.name}"[:32], check, cache):
            if not (folder / "complete").exists():
                _copy_pytest(folder, layout, build)
    return dataclasses.replace(
        layout, site=(str(folder), *layout.site), binds={**layout.binds, str(folder): str(folder)}
    )


def _has_copy(chosen: Chosen) -> bool:
    """Return whether sandboxes of the running interpreter get a copy of its pytest."""
    config = Path(sysconfig.get_path("purelib"), "_pytest", "config")
    compiled = config / "__pycache__" / f"__init__.{sys.implementation.cache_tag}.pyc"
    return chosen.running and chosen.tool is None and config.is_dir() and not compiled.exists()


def _copy_pytest(folder: Path, layout: Layout, build: Builder) -> None:
    """Copy pytest and what it needs into ``folder``, and compile what an import of it takes. Raises Cancelled."""
    remove_folder(folder)
    folder.mkdir(parents=True)
    for name in sorted(PYTEST_ALONE):
        with suppress(importlib.metadata.PackageNotFoundError):
            found = importlib.metadata.distribution(name)
            for top in {file.parts[0] for file in found.files or () if file.suffix == ".py" and file.parts[0] != ".."}:
                source = Path(str(found.locate_file(top)))
                if source.is_dir():
                    shutil.copytree(source, folder / top)
                else:
                    shutil.copy2(source, folder / top)
    view = View(readable=_readable(layout, without=""), writable={str(folder): folder}, masked=layout.masked)
    compiling, reading = (
        Command(argv=(layout.interpreter, "-I", "-S", *more, "-c", _IMPORT, str(folder))) for more in ((), ("-B",))
    )
    build(view, compiling, INSTALL_SECONDS)
    if build(view, reading, INSTALL_SECONDS).exit_code != 0:  # a full disk leaves half of a module, without an error
        for half in folder.rglob("__pycache__"):
            remove_folder(half)
    (folder / "complete").touch()


def venv_layout(cache: Path, instance: Instance, chosen: Chosen, build: Builder, check: Callable[[], None]) -> Layout:
    """The virtual environment for an instance's pins, made if it is not there yet. Raises ImageError, Cancelled."""
    interpreter = chosen.interpreter
    key = _venv_key(instance, chosen)
    folder = cache / "venvs" / key
    layout = _layout_of(folder, interpreter)
    if not (folder / "complete").exists():
        with one_builder(f"venv-{key}"[:32], check, cache):
            if not (folder / "complete").exists():
                _plant_seed(folder, instance, layout, interpreter, build, check)
                _install_packages(folder, instance, layout, build)
    return layout


def venv_name(instance: Instance, chosen: Chosen) -> str | None:
    """The folder's name of the packages that are kept for an instance's environment; None where there are none."""
    return None if chosen.running and not _has_copy(chosen) else _venv_key(instance, chosen)


def _venv_key(instance: Instance, chosen: Chosen) -> str:
    return serialization.digest([chosen.identity(instance.required_environment), str(chosen.interpreter.prefix)])[:32]


def _layout_of(folder: Path, interpreter: interpreters.Interpreter) -> Layout:
    site = folder / "lib" / f"python{interpreter.version}" / "site-packages"
    prefix = str(interpreter.prefix)
    binds = {} if prefix in _SYSTEM_PREFIXES else {prefix: prefix}
    return Layout(
        interpreter=str(folder / "bin" / "python"),
        site=(str(site),),
        version=interpreter.full,
        binds={**binds, str(folder): str(folder)},
        masked=_masked_places(interpreter),
        venv=str(folder),
    )


def _masked_places(interpreter: interpreters.Interpreter) -> tuple[str, ...]:
    """Folders with packages that are none of the environment's: the interpreter's own and the system's."""
    candidates = [str(interpreter.stdlib / "site-packages"), "/usr/lib/python3/dist-packages"]
    candidates.extend(str(path) for path in Path("/usr/local/lib").glob("python3.[0-9]*/dist-packages"))
    return tuple(path for path in dict.fromkeys(candidates) if Path(path).is_dir())


def _plant_seed(
    folder: Path,
    instance: Instance,
    layout: Layout,
    interpreter: interpreters.Interpreter,
    build: Builder,
    check: Callable[[], None],
) -> None:
    """Make the virtual environment in ``folder`` without the pinned packages. Raises ImageError, Cancelled."""
    remove_folder(folder)  # of a killed build
    folder.mkdir(parents=True)
    seed = seeds.place(interpreter.program, interpreter.full, VENV)

    def make() -> None:
        argv = (str(interpreter.program), *VENV, str(seed))
        view = View(readable=_readable(layout, without=str(folder)), writable={str(seed): seed}, masked=layout.masked)
        done = build(view, Command(argv=argv), INSTALL_SECONDS)
        if done.exit_code != 0:
            remove_folder(folder)
            raise _failure(f"{instance.id}: CPython {interpreter.full} makes no virtual environment", done)

    seeds.plant(seed, folder, check, make)


def _install_packages(folder: Path, instance: Instance, layout: Layout, build: Builder) -> None:
    """Install an environment's pinned packages into a fresh virtual environment. Raises ImageError, Cancelled."""
    (folder / "packages.txt").write_text(
        "".join(f"{package}\n" for package in packages_of(instance.required_environment))
    )
    install, tool = _installer(folder, instance.required_environment)
    script = f'{_OUTSPOKEN}; set -e; {install} -r "$1/packages.txt"; ls "$2" > "$1/distributions.txt"'
    # uv compiles only for recent interpreters; what does not compile is none of the environment's business.
    script += '; "$1/bin/python" -m compileall -q "$2" > /dev/null 2>&1 || true' if tool else ""
    env = uv_cli.variables(route_env()) if tool else route_env()
    view = View(
        readable={**_readable(layout, without=str(folder)), **route_files(), **tool},
        writable={str(folder): folder},
        masked=layout.masked,
        network=True,
    )
    done = build(view, Command(argv=("sh", "-c", script, "sh", str(folder), layout.site[0]), env=env), INSTALL_SECONDS)
    if done.exit_code != 0:
        remove_folder(folder)
        raise _failure(f"{instance.id}: the pinned packages could not be installed", done)
    (folder / "complete").touch()


def _installer(folder: Path, environment: Environment) -> tuple[str, dict[str, Path]]:
    """The command that installs a list of packages, and the program that it needs: uv where they are of a moment."""
    if environment.resolved is None:
        return '"$1/bin/python" -m pip install --no-cache-dir', {}
    uv = uv_cli.program()
    options = [f"--python={folder}/bin/python", "--no-cache", "--no-deps"]
    return shlex.join([str(uv), "pip", "install", *options, *uv_cli.arguments(environment.resolved)]), {str(uv): uv}


def build_tree(
    folder: Path,
    instance: Instance,
    snapshot: Snapshot,
    layout: Layout,
    tool: Tool | None,
    build: Builder,
    check: Callable[[], None],
    *,
    confined: bool,
    hands_on: bool,
) -> Layout:
    """Put head's tree into ``folder``/tree and run the install commands on it; the layout with what they changed."""
    tree = folder / "tree"
    snapshot.clone(tree)
    listed = sorted(path.name for path in Path(layout.site[0]).iterdir())
    (folder / "distributions.txt").write_text("\n".join(listed) + "\n")
    git = git_route(folder / "gitconfig", tree, snapshot.tracked(), instance.required_environment.commands)
    if tool is not None:
        return _build_with(tool, folder, instance, layout, git, build, check, confined=confined, hands_on=hands_on)
    if not instance.required_environment.commands:
        return layout
    if layout.venv is None:
        raise ImageError(f"{instance.id}: it has install commands and no virtual environment to run them in")
    shutil.copytree(layout.venv, folder / "venv", symlinks=True)
    constraints = _put_constraints(folder / "venv", layout.venv, instance, snapshot)
    binds = {**layout.binds, layout.venv: str(folder / "venv")}
    workdir = instance.required_environment.workdir if confined else str(tree)
    view = View(
        readable={**_readable(layout, without=layout.venv), **route_files(), **git.files},
        writable={layout.venv: folder / "venv", workdir: tree},
        masked=layout.masked,
        network=True,
        cwd=workdir,
    )
    path = f"{layout.venv}/bin:/usr/local/bin:/usr/bin:/bin"
    script = f"{_OUTSPOKEN}\n{install_script(instance.required_environment, constraints)}"
    env = {**route_env(), **git.env, "PATH": path}
    done = build(view, Command(argv=("sh", "-c", script), env=env), INSTALL_SECONDS)
    if done.exit_code != 0:
        raise _failure(f"{instance.id}: the install commands failed", done)
    final = folder.parent / folder.name.removesuffix(NEW)
    compiled = tuple(compiled_modules(str(tree), ecosystems.COMPILED, ecosystems.DEFAULT_SUFFIX))
    return dataclasses.replace(layout, binds={**binds, layout.venv: str(final / "venv")}, compiled=compiled)


def compile_tree(folder: Path, layout: Layout, build: Builder) -> None:
    """Compile the modules of ``folder``/tree into ``folder``/bytecode, where that saves time. Raises Cancelled.

    ``layout`` is that of the packages. An oracle run else compiles what it imports each time, since no run may write
    into the tree of another.
    """
    tree = folder / "tree"
    size = sum(Path(path).stat().st_size for path in bytecode.modules(str(tree)))
    if size < _WORTH_COMPILING or numbers(layout.version) < _DIGESTS:
        return
    compiled = folder / BYTECODE
    compiled.mkdir()
    view = View(
        readable={**_readable(layout, without=""), TREE: tree},
        writable={BYTECODE_PLACE: compiled},
        masked=layout.masked,
    )
    argv = (layout.interpreter, "-I", "-S", "-c", _COMPILE, TREE, BYTECODE_PLACE)
    build(view, Command(argv=argv), INSTALL_SECONDS)  # what a failure left out is compiled when it is imported


def _put_constraints(venv: Path, inside: str, instance: Instance, snapshot: Snapshot) -> str | None:
    """Write what keeps isolated builds to the environment's moment; its place ``inside``, None where there is none."""
    try:
        text = build_constraints(instance.required_environment, snapshot)
    except ImageError as error:
        raise ImageError(f"{instance.id}: {error}", of_machine=error.of_machine) from error
    if text is None:
        return None
    (venv / _CONSTRAINTS).write_text(text)
    return f"{inside}/{_CONSTRAINTS}"


def _build_with(
    tool: Tool,
    folder: Path,
    instance: Instance,
    layout: Layout,
    git: GitRoute,
    build: Builder,
    check: Callable[[], None],
    *,
    confined: bool,
    hands_on: bool,
) -> Layout:
    """Build the tree with an ecosystem's tool; the layout with the tool in its place. Raises ImageError, Cancelled."""
    environment = instance.required_environment
    tools = ecosystems.ecosystem_of(environment).tools
    assert tools is not None
    tree, caches, final = folder / "tree", folder / "caches", folder.parent / folder.name.removesuffix(NEW)
    workdir = environment.workdir if confined else str(tree)
    binds = {**layout.binds, **tools.binds(tool)}
    writable = {workdir: tree}
    kept = {}
    has_caches = tools.has_caches or (hands_on and bool(tools.handed_on))
    if has_caches:
        handed_on = caches.is_dir()
        caches.mkdir(exist_ok=True)
        seed = tools.seed(tool)
        if seed is not None and not handed_on:
            place = seeds.place(Path(tool.program), tool.version, tools.seeded)
            seeds.copy(place, caches, check, lambda: seed(place))
        writable[CACHES if confined else str(caches)] = caches
        kept = {CACHES: str(final / "caches")}
    during, after = (CACHES, CACHES) if confined else (str(caches), str(final / "caches"))
    if environment.packages or environment.commands or has_caches:
        view = View(
            readable={**{inside: Path(host) for inside, host in binds.items()}, **route_files(), **git.files},
            writable=writable,
            network=True,
            cwd=workdir,
        )
        path = f"{Path(tool.program).parent}:/usr/local/bin:/usr/bin:/bin"
        env = {**tools.placed(tool, during).env, **tools.route_env(), "PATH": path, "CRAB_CACHES": after}
        if git.env:
            env |= {**tools.git_variables, **git.env}
        if hands_on:
            env["CRAB_HANDS_ON"] = during
        argv = ("sh", "-c", f"{_OUTSPOKEN}\ncd {shlex.quote(workdir)}\n{tools.build_script(environment)}")
        done = build(view, Command(argv=argv, env=env), INSTALL_SECONDS)
        if done.exit_code != 0:
            raise _failure(f"{instance.id}: the packages of {tool.name} or the install commands failed", done)
    return dataclasses.replace(layout, binds={**binds, **kept}, tool=tools.placed(tool, after))


def _failure(what: str, done: Completed) -> ImageError:
    return build_failures.failure(what, done, INSTALL_LIMITS, INSTALL_SECONDS)


def write(layout: Layout, folder: Path) -> None:
    """Keep a layout with what it describes."""
    (folder / "layout.json").write_text(json.dumps(serialization.dump(layout)))


def read(folder: Path) -> Layout:
    """The layout that was kept in a folder. Raises ImageError if there is none."""
    problems: list[str] = []
    try:
        layout = serialization.read(Layout, json.loads((folder / "layout.json").read_text()), problems)
    except (OSError, ValueError) as error:
        raise ImageError(f"the environment {folder} is damaged ({error}); remove it, and it is built again") from error
    if layout is None:
        raise ImageError(f"the environment {folder} is damaged ({problems[0]}); remove it, and it is built again")
    return layout


def instances_of(folder: Path) -> frozenset[str]:
    """The instances that an environment was taken for; none, if it is not whole."""
    try:
        return frozenset((folder / _INSTANCES).read_text(encoding="ascii").split()) if is_whole(folder) else frozenset()
    except (OSError, ImageError):
        return frozenset()


def note_instance(folder: Path, instance: str) -> None:
    """Add an instance to those of an environment, which lie in its folder: a store is shared, moved and kept."""
    with suppress(OSError):  # a cache that cannot be written serves all the same
        if instance not in instances_of(folder):
            with (folder / _INSTANCES).open("a", encoding="ascii") as file:
                file.write(f"{instance}\n")


def is_whole(folder: Path) -> bool:
    """Return whether a folder holds an environment whose parts are all still there. Raises ImageError."""
    return folder.exists() and all(Path(host).exists() for host in read(folder).binds.values())


def _readable(layout: Layout, *, without: str) -> dict[str, Path]:
    return {inside: Path(host) for inside, host in layout.binds.items() if inside != without}


def route_env() -> dict[str, str]:
    """Return the variables by which an installer in a sandbox reaches packages from this machine."""
    route = PackageRoute.here()
    env = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", **route.proxies}
    if route.index is not None:
        env["PIP_INDEX_URL"] = route.index
    if route.bundle is not None:
        env.update({name: str(route.bundle) for name in ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")})
    return env


def route_files() -> dict[str, Path]:
    """The files that ``route_env`` names, where a sandbox would not see them."""
    bundle = PackageRoute.here().bundle
    return {} if bundle is None or str(bundle).startswith("/etc/ssl/certs/") else {str(bundle): bundle}
