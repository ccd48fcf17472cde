"""Sandboxes without an engine: bubblewrap with a list of what is to be seen, and nothing else is."""

from __future__ import annotations

import dataclasses
import functools
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab.errors import Cancelled, EngineError
from pytest_crab.model_access import ModelAccess
from pytest_crab.program_files import SYSTEM_PATH
from pytest_crab.protocols import CLIENT_LIMITS, Command, Completed, Limits
from pytest_crab.runtimes import cgroups, gateway_relay, hidden_paths, seccomp, way_out as internet
from pytest_crab.runtimes.base_images import GROUP, PASSWD
from pytest_crab.runtimes.cgroups import Cgroup
from pytest_crab.runtimes.disk_quota import DiskQuota
from pytest_crab.runtimes.environments import HOSTNAME, HOSTS, OUTPUT_CAP, TMP
from pytest_crab.runtimes.hidden_paths import Mount, bind_mount, empty_mount
from pytest_crab.runtimes.process_io import PipedProcess, serve, start_process, to_completed
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.text import last_line

_MIB = 2**20
_SHM = "/dev/shm"  # noqa: S108 - a place inside
_DEVICES = ("--dev", "/dev", "--mqueue", "/dev/mqueue")
_SHARED_MEMORY = 64 * _MIB
_IDS = {"project": "1000", "oracle": "1001"}
#: What of /usr holds programs and what they need; projects and their stores may lie beside it, as in /usr/src.
_PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "include", "share")
_USR = tuple(f"{root}/{part}" for root in ("/usr", "/usr/local") for part in _PARTS)
_SYSTEM = (*_USR, "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "mime.types", "services")
_ETC_CERTIFICATES = ("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs")
_ETC_NETWORK = ("resolv.conf", "nsswitch.conf", "gai.conf", *_ETC_CERTIFICATES)
# Joins the groups in the first argument, sets limits, and becomes bubblewrap; a shell does it in a millisecond.
_LAUNCH = (
    'for group in $1; do echo 0 > "$group/cgroup.procs" || exit 125; done; '
    'ulimit -c 0; ulimit -f "$2"; ulimit -n 4096 2>/dev/null; if [ -n "$3" ]; then ulimit -v "$3"; fi; '
    'shift 3; exec "$@"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The file system of a sandbox besides the system's programs."""

    #: Folders and files of the host by place inside.
    readable: Mapping[str, Path] = field(default_factory=dict)
    #: The same, for those that may be written.
    writable: Mapping[str, Path] = field(default_factory=dict)
    #: Places with a writable file system of their own.
    empty: Sequence[str] = (TMP,)
    #: Places that are made to look empty.
    masked: Sequence[str] = ()
    #: Places that have to be seen, whatever is hidden (hiding).
    needed: Sequence[str] = ()
    #: This machine's own network, for builds; what a contestant runs gets ``way_out`` in its place, or nothing.
    network: bool = False
    #: The socket of a proxy to the internet.
    way_out: Path | None = None
    #: Whether what runs may reserve more address space than the memory that it may use, as runtimes of JavaScript do;
    #: where no control group holds, nothing then bounds its memory.
    reserves: bool = False
    #: Sockets that the command gets open; here they are closed once it has started.
    handed: Sequence[socket.socket] = ()
    cwd: str = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMounts:
    """The mounts of a client of the models."""

    #: The gateway's socket.
    models: ModelAccess
    #: The folder on the host that is the client's home.
    home: Path


def with_client(view: View, client: ClientMounts) -> View:
    """Return the same view with the gateway's socket and the client's home in it."""
    readable = {**view.readable, gateway_relay.SOCKET: client.models.socket}
    writable = {**view.writable, gateway_relay.HOME: client.home}
    return dataclasses.replace(view, readable=readable, writable=writable, reserves=True)


#: What a container has to be started with where bubblewrap says this in it.
_IN_A_CONTAINER = {
    "new namespace": "seccompProfile: {type: Unconfined} on Kubernetes, --security-opt seccomp=unconfined with Docker",
    "make / slave": "appArmorProfile: {type: Unconfined} on Kubernetes, --security-opt apparmor=unconfined with Docker",
    "mount proc": "procMount: Unmasked on Kubernetes, --security-opt systempaths=unconfined with Docker",
}


#: What lets a command mount in its own view of the file system.
_MOUNTING = ("--cap-add", "CAP_SYS_ADMIN")


def problem() -> str | None:
    """Return why bubblewrap cannot be used here, as one sentence; None if it can."""
    return _trial()[0]


@functools.lru_cache(maxsize=1)
def _trial() -> tuple[str | None, tuple[str, ...]]:
    """Return why bubblewrap cannot be used here, or else the options by which commands may mount, if any do."""
    if shutil.which("bwrap") is None:
        return "bubblewrap (bwrap) is not installed", ()
    try:
        if _trial_run(*_MOUNTING).returncode == 0:
            return None, _MOUNTING
        done = _trial_run()
    except (OSError, subprocess.SubprocessError) as error:
        return f"bubblewrap does not run here: {error}", ()
    if done.returncode == 0:
        return None, ()
    said = last_line(done.stderr) or f"it printed nothing and ended with {done.returncode}"
    needs = "".join(f" (a container needs {need})" for part, need in _IN_A_CONTAINER.items() if part in said)
    return f"bubblewrap does not work here: {said}{needs}", ()


def _trial_run(*options: str) -> subprocess.CompletedProcess[bytes]:
    """Run nothing in a sandbox with these options. Raises OSError, SubprocessError."""
    test = [str(shutil.which("bwrap")), "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000"]
    test += ["--proc", "/proc", *_DEVICES, *(part for mount in _system(network=False) for part in mount.options)]
    test += ["--size", "4096", "--tmpfs", TMP]
    with _content_files(seccomp.filters()) as files:
        more = [part for file in files for part in ("--seccomp", str(file))]
        more += ["--cap-drop", "ALL", *options, "true"]
        return subprocess.run([*test, *more], capture_output=True, timeout=20, check=False, pass_fds=files)


def run_confined(
    run: RunFolder,
    views: Sequence[View],
    commands: Sequence[Command],
    *,
    limits: Limits,
    seconds: float,
    cancelled: Sequence[threading.Event] = (),
    quota: DiskQuota | None = None,
) -> tuple[Completed, ...]:
    """Run commands beside each other, each in a sandbox of its own; the limits hold for them together.

    ``quota`` looks after what they write on the host's disk, where they are given folders of it. Raises EngineError
    where bubblewrap cannot be used or that disk is nearly full, and Cancelled once one of ``cancelled`` is set.
    """
    reason = problem()
    if reason is not None:
        raise EngineError(reason)
    with ExitStack() as stack:
        folder = run.folder  # first: from here on a sweep knows that the run lives
        group = stack.enter_context(cgroups.new_group(run.id, limits))
        quota = quota or DiskQuota((), 0)
        quota.again()
        running = _start_sandboxes(views, commands, limits, group, folder)
        serve(
            running,
            deadline=time.monotonic() + seconds,
            cancelled=lambda: any(event.is_set() for event in cancelled) or quota.is_over(),
            kill=lambda piped: piped.process.kill(),
        )
        if any(event.is_set() for event in cancelled):
            raise Cancelled("the run was interrupted")
        ended = any(piped.late for piped in running)
        if ended:
            quota.check()
        starved = group.out_of_memory() if group is not None else False
        full = quota.full and ended
        return tuple(to_completed(piped, out_of_memory=starved, too_much_disk=full) for piped in running)


def attach(run: RunFolder, view: View, command: Command, *, limits: Limits) -> int:
    """Run a command in a sandbox on this process's own terminal, for as long as it likes; its exit code.

    Raises EngineError where bubblewrap cannot be used.
    """
    reason = problem()
    if reason is not None:
        raise EngineError(reason)
    with ExitStack() as stack:
        folder = run.folder
        group = stack.enter_context(cgroups.new_group(run.id, limits))
        files = stack.enter_context(_files(view, command))
        argv = _launch(view, command, limits, group, folder, files)
        return subprocess.run(argv, env={}, pass_fds=files, check=False).returncode


def run_in_folder(
    argv: Sequence[str],
    folder: Path,
    *,
    readable: Sequence[Path] = (),
    writable: Sequence[Path] = (),
    masked: Sequence[Path] = (),
    way_out: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    seconds: float,
    cancel: threading.Event | None = None,
    limits: Limits = CLIENT_LIMITS,
    run: RunFolder | None = None,
    client: ClientMounts | None = None,
    quota: DiskQuota | None = None,
) -> Completed:
    """Run a command in ``folder``, which it may write; it sees only that, the paths named and the system's programs.

    Paths are the same inside as outside; /tmp is its own unless ``env`` and ``writable`` say otherwise. The deadline,
    ``cancel`` and ``quota`` end it with every descendant. Raises EngineError, Cancelled.
    """
    own = run or RunFolder()
    view = View(
        readable={str(path): path for path in readable},
        writable={str(path): path for path in (*writable, folder)},
        masked=[str(path) for path in masked],
        way_out=way_out,
        cwd=str(folder),
    )
    command = Command(argv=argv, stdin=stdin, env=env or {})
    interpreter, binds = gateway_relay.interpreter(), gateway_relay.interpreter_binds()
    if client is not None:
        view = with_client(dataclasses.replace(view, readable={**view.readable, **binds}), client)
        command = dataclasses.replace(command, argv=gateway_relay.with_relay(interpreter, command.argv))
    if way_out is not None:
        argv = gateway_relay.with_relay(interpreter, command.argv, internet.SOCKET, internet.PORT)
        view = dataclasses.replace(view, readable={**binds, **view.readable, internet.SOCKET: way_out})
        command = dataclasses.replace(command, argv=argv, env={**command.env, **internet.VARIABLES})
    events = [cancel] if cancel is not None else []
    try:
        (done,) = run_confined(own, [view], [command], limits=limits, seconds=seconds, cancelled=events, quota=quota)
        return done
    finally:
        if run is None:
            own.close()


@contextmanager
def _files(view: View, command: Command) -> Iterator[tuple[int, ...]]:
    """Open files for bubblewrap: the command's environment as arguments, those of ``_etc``, and the filter of calls.

    Arguments come in a file since every user of the machine can read command lines.
    """
    variables = {"HOME": TMP, "PATH": SYSTEM_PATH, "LANG": "C.UTF-8", **command.env}
    arguments = [part for name, value in variables.items() for part in ("--setenv", name, value)]
    text = b"".join(os.fsencode(argument) + b"\0" for argument in arguments)
    with _content_files([text, *_etc(network=view.network).values(), *seccomp.filters()]) as files:
        yield files


@contextmanager
def _content_files(contents: Sequence[bytes]) -> Iterator[tuple[int, ...]]:
    """Files without a name that hold these contents, to be read from their start."""
    with ExitStack() as stack:
        files = [stack.enter_context(os.fdopen(os.memfd_create("bubblewrap"), "w+b", buffering=0)) for _ in contents]
        for file, content in zip(files, contents, strict=True):
            file.write(content)
            file.seek(0)
        yield tuple(file.fileno() for file in files)


def _start_sandboxes(
    views: Sequence[View], commands: Sequence[Command], limits: Limits, group: Cgroup | None, folder: Path
) -> list[PipedProcess]:
    """Start each command in its sandbox. Raises EngineError, and then none is left."""
    running: list[PipedProcess] = []
    try:
        for view, command in zip(views, commands, strict=True):
            with _files(view, command) as files:
                argv = _launch(view, command, limits, group, folder, files)
                more = [one.fileno() for one in view.handed]
                running.append(start_process(argv, command.stdin, OUTPUT_CAP, env={}, pass_fds=(*files, *more)))
            for one in view.handed:
                one.close()
    except (OSError, EngineError) as error:
        for piped in running:
            piped.process.kill()
        if isinstance(error, EngineError):
            raise
        raise EngineError(f"a sandbox could not be started: {error}", passing=True) from error
    return running


def _launch(
    view: View, command: Command, limits: Limits, group: Cgroup | None, folder: Path, files: Sequence[int]
) -> list[str]:
    places = " ".join(map(str, group.places)) if group is not None else ""
    address_space = "" if group is not None or view.reserves else str(limits.memory * 1024)
    shell = ["/bin/sh", "-c", _LAUNCH, "sh", places, str(limits.file * 2048), address_space]
    needed = [place for place in (command.argv[0], view.cwd, *view.needed) if place.startswith("/")]
    variables, *others = map(str, files)
    etc = dict(zip(_etc(network=view.network), others, strict=False))
    scratch = {str(folder.parent.resolve()): "scratch"}
    mounts = hidden_paths.order_mounts(_mounts(view, limits, etc), needed, scratch)
    arguments = _arguments(view, mounts, _IDS[command.user], group)
    arguments += _trial()[1] if command.mounts else ()
    arguments += ["--as-pid-1"] if command.first else []
    more = [part for file in others[len(etc) :] for part in ("--seccomp", file)]
    return [*shell, *arguments, *more, "--args", variables, "--", *command.argv]


def _arguments(view: View, mounts: Sequence[Mount], identity: str, group: Cgroup | None) -> list[str]:
    arguments = [str(shutil.which("bwrap")), "--unshare-all", "--unshare-user", "--uid", identity, "--gid", identity]
    arguments += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", HOSTNAME, "--clearenv"]
    arguments += ["--share-net"] if view.network else []
    arguments += ["--proc", "/proc", *_DEVICES, *(part for mount in mounts for part in mount.options)]
    arguments += hidden_paths.seal_options(mounts)
    if group is not None:
        counted = group.folders["memory"] if len(group.places) == 1 else None
        binds = {"": counted} if counted else {f"/{name}": group.folders[name] for name in ("memory", "pids")}
        for name, host in binds.items():
            arguments += ["--ro-bind", str(host), f"/sys/fs/cgroup{name}"]
    # The root and /dev are file systems in memory that nothing bounds; and if root starts this, the user inside is root
    # to the kernel's own settings below /proc/sys, whatever number it goes by.
    arguments += ["--size", str(_SHARED_MEMORY), "--tmpfs", _SHM, "--remount-ro", "/dev", "--remount-ro", "/"]
    # The kernel's keys have no namespace: what they are called is the host's.
    arguments += ["--ro-bind-try", "/dev/null", "/proc/keys", "--remount-ro", "/proc"]
    return [*arguments, "--chdir", view.cwd]


def _mounts(view: View, limits: Limits, etc: Mapping[str, str]) -> Iterator[Mount]:
    """Everything that a sandbox sees of the host, and what is empty; of two with one place the later one is seen.

    ``etc`` has the numbers of the open files of ``_etc``, by their names.
    """
    yield from _system(() if view.way_out is None else _ETC_CERTIFICATES, network=view.network)
    for name, number in etc.items():
        yield Mount(place=f"/etc/{name}", options=("--perms", "0444", "--ro-bind-data", number, f"/etc/{name}"))
    for place in view.empty:
        mode = "1777" if place == TMP else "0755"
        yield Mount(place=place, options=("--perms", mode, "--size", str(limits.disk * _MIB), "--tmpfs", place))
    for place, host in view.readable.items():
        yield bind_mount("--ro-bind", host, place)
    for place in view.masked:
        file = Path(place).is_file()
        yield bind_mount("--ro-bind", Path(os.devnull), place) if file else empty_mount(place)
    for place, host in view.writable.items():
        yield bind_mount("--bind", host, place)


def _system(more: Sequence[str] = (), *, network: bool) -> Iterator[Mount]:
    yield from _programs()
    yield from _of_etc((*more, *(_ETC_NETWORK if network else ())))


@functools.lru_cache(maxsize=1)
def _programs() -> tuple[Mount, ...]:
    """The system's programs and what they need, which stay where they are while this process lives."""
    mounts = []
    for place in _SYSTEM:
        if Path(place).is_symlink():
            mounts.append(Mount(place=place, options=("--symlink", str(Path(place).readlink()), place)))
        elif Path(place).is_dir():
            mounts.append(bind_mount("--ro-bind", Path(place), place))
    return (*mounts, *_of_etc(_ETC))


def _of_etc(names: Sequence[str]) -> Iterator[Mount]:
    for name in names:
        real = Path(f"/etc/{name}").resolve()
        if real.exists():
            yield bind_mount("--ro-bind", real, f"/etc/{name}")


def _etc(*, network: bool) -> dict[str, bytes]:
    """Return the files of /etc that are a sandbox's own, by name; with this machine's network it has its hosts too."""
    own = {"passwd": PASSWD.encode(), "group": GROUP.encode(), "hosts": HOSTS.encode()}
    if not network:
        return {**own, "nsswitch.conf": b"hosts: files\n"}
    outside = Path("/etc/hosts")
    return {**own, "hosts": own["hosts"] + (outside.read_bytes() if outside.is_file() else b"")}
