"""What every runtime promises: the same tests for all."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_crab import harness
from pytest_crab.errors import Cancelled, EngineError, ImageError, InstallFailed
from pytest_crab.protocols import ORACLE_LIMITS, Command, InstallResult, Limits
from pytest_crab.runtimes import container_exec

if TYPE_CHECKING:
    from conftest import Place

LIMITS = Limits(memory=128, processes=24, disk=16, file=8)
LIMITS_OF_TWO = replace(ORACLE_LIMITS, disk=16)
#: Seconds that something is given before its deadline: more where a busy machine takes as long to start anything.
PATIENCE = (1, 8, 40)


@pytest.fixture
def limited(place: Place, without: Callable[[str, str], NoReturn]) -> Place:
    """A place whose memory and processes are limited by control groups."""
    if place.image.facts.get("limits") == "rlimit":
        without("cgroups", "no control groups can be made here")
    return place


def test_knows_of_which_python_environments_can_be_made(place: Place) -> None:
    version = place.run(place.image.interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout
    assert place.runtime.has_interpreter(version.decode().strip())
    assert not place.runtime.has_interpreter("3.99")
    advice = place.runtime.interpreter_advice("3.99")
    assert "Python 3.99" in advice
    assert ("doctor --build-base --python 3.99" in advice and "local" in advice) or "docker" in advice


def test_an_environment_is_discarded_but_for_what_is_kept(fresh: Place) -> None:
    environment = replace(fresh.instance.required_environment, env={"TRIED": "in vain"})
    tried = replace(fresh.instance, environment=environment)

    def is_built() -> bool:
        return bool(fresh.runtime.prepare(tried, fresh.snapshot, {}).facts["built"])

    assert is_built()
    fresh.runtime.discard(tried, {}, [(tried, {})])
    assert not is_built()
    fresh.runtime.discard(tried, {}, [])
    assert is_built()
    fresh.runtime.discard(tried, {}, [])


def test_input_and_output_are_exact_bytes(place: Place) -> None:
    sent = os.urandom(5_000_000)
    assert place.run("cat", stdin=sent).stdout == sent


def test_streams_and_exit_code_are_told_apart(place: Place) -> None:
    done = place.run("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.exit_code) == (b"out\n", b"err\n", 3)
    assert (done.timed_out, done.out_of_memory, done.too_much_output) == (False, False, False)


def test_input_that_nobody_reads_does_no_harm(place: Place) -> None:
    assert place.run("true", stdin=bytes(3_000_000)).exit_code == 0


def test_runs_as_nobody_special(place: Place) -> None:
    code = "import os; print(os.getuid(), open('/proc/self/status').read().split('CapEff:')[1].split()[0])"
    assert place.python(code).stdout.split() == [b"1000", b"0000000000000000"]


def test_environment_is_clean(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "geheim")
    names = set(
        json.loads(place.python("import os, json; print(json.dumps(dict(os.environ)))", env={"MINE": "1"}).stdout)
    )
    assert "SOME_API_KEY" not in names
    assert {"DEMO", "MINE", "HOME", "PATH"} <= names
    assert names <= {"DEMO", "MINE", "HOME", "PATH", "LANG", "LC_CTYPE", "PWD", "HOSTNAME", "PYTHON_VERSION", "GPG_KEY"}


@pytest.mark.parametrize("target", ["/usr/x", "/x", "/etc/x", "/opt/crab/tree/x", "/proc/sys/kernel/core_pattern"])
def test_only_workdir_and_tmp_are_writable(place: Place, target: str) -> None:
    assert place.run("sh", "-c", f": >> {target}").exit_code != 0


def test_workdir_and_tmp_take_programs(place: Place) -> None:
    for folder in (place.image.workdir, place.image.scratch):
        made = "printf '#!/bin/sh\\necho ran\\n' > x && chmod +x x && ./x"
        assert place.run("sh", "-c", f"cd {folder} && {made}").stdout == b"ran\n"


def test_host_files_are_not_there(place: Place, tmp_path: Path) -> None:
    secrets = [str(tmp_path), "/var/run/docker.sock", "/root/.ssh", "/root/.bashrc", "/etc/shadow"]
    done = place.python(f"import os; print([path for path in {secrets!r} if os.path.exists(path)])")
    assert done.stdout.strip() == b"[]"


def test_no_network(place: Place) -> None:
    code = (
        "import socket\n"
        "for address in (('1.1.1.1', 53), ('172.17.0.1', 22), ('10.255.255.53', 53)):\n"
        "    try: socket.create_connection(address, 2)\n"
        "    except OSError as e: print(e.errno)\n"
    )
    assert place.python(code).stdout.split() == [b"101"] * 3


def test_the_machine_has_its_names_and_listens_at_them(place: Place) -> None:
    code = (
        "import asyncio, socket\n"
        "print(socket.gethostbyname('localhost'), socket.gethostbyname(socket.gethostname()))\n"
        "async def serve():\n"
        "    for name in ('localhost', socket.gethostname()):\n"
        "        server = await asyncio.start_server(lambda reader, writer: writer.close(), name, 0)\n"
        "        reader, writer = await asyncio.open_connection(name, server.sockets[0].getsockname()[1])\n"
        "        print(await reader.read() == b'')\n"
        "asyncio.run(serve())\n"
    )
    assert place.python(code).stdout.split() == [b"127.0.0.1", b"127.0.0.1", b"True", b"True"]


def test_tree_is_there_with_its_two_commits(place: Place) -> None:
    done = place.run("sh", "-c", f"cat {place.image.tree}/demo.py; ls -a {place.image.tree}")
    assert done.stdout.startswith(b"VALUE = 2\n")
    assert b".git\n" in done.stdout


def test_pytest_and_nothing_of_the_host_is_importable(place: Place) -> None:
    code = f"import sys; sys.path += {list(place.image.site)!r}; import pytest; print(pytest.__version__)"
    assert place.run(place.image.interpreter, "-I", "-S", "-c", code).exit_code == 0


def test_memory_is_limited(limited: Place) -> None:
    done = limited.python("x = b'1' * 300_000_000; print(len(x))")
    assert (done.stdout, done.out_of_memory, done.timed_out) == (b"", True, False)


def test_memory_of_a_child_counts(limited: Place) -> None:
    code = f"{limited.image.interpreter} -c \"x = b'1' * 300_000_000\"; echo survived"
    done = limited.run("sh", "-c", code)
    assert (done.stdout, done.exit_code, done.out_of_memory) == (b"survived\n", 0, True)


def test_processes_are_limited(limited: Place) -> None:
    code = (
        "import os, time\n"
        "n = 0\n"
        "try:\n"
        "    for n in range(200):\n"
        "        if not os.fork(): time.sleep(60)\n"
        "except OSError: print(n < 30)\n"
    )
    assert limited.python(code).stdout == b"True\n"


@pytest.mark.parametrize("where", ["workdir", "scratch"])
def test_disk_is_limited(place: Place, where: str) -> None:
    folder = getattr(place.image, where)
    done = place.run(
        "sh", "-c", f"for i in 1 2 3 4 5 6; do head -c 5000000 /dev/zero > {folder}/$i || exit 9; done; echo all"
    )
    assert done.exit_code != 0
    assert done.stdout == b""


def test_files_are_limited(place: Place) -> None:
    code = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nopen('/tmp/x', 'wb').write(bytes(9_000_000))"
    assert place.python(code).exit_code == 1


def test_output_is_capped(place: Place) -> None:
    done = place.python("import sys\nwhile True: sys.stdout.write('x' * 65536)", seconds=60)
    assert (done.exit_code, done.too_much_output, done.timed_out) == (None, True, False)
    assert len(done.stdout) == 64 * 2**20


def test_deadline_ends_everything(place: Place) -> None:
    mark = f"31{os.getpid()}.{time.monotonic_ns()}"
    done = place.run("sh", "-c", f"setsid sleep {mark} & sleep {mark}", seconds=1)
    assert (done.exit_code, done.timed_out) == (None, True)
    assert not _running(mark)


def test_what_outlives_its_command_is_ended(place: Place) -> None:
    mark = f"32{os.getpid()}.{time.monotonic_ns()}"
    assert place.run("sh", "-c", f"setsid sleep {mark} >/dev/null 2>&1 & echo left").stdout == b"left\n"
    assert not _running(mark)


def test_output_before_the_deadline_is_kept(place: Place) -> None:
    outputs = (place.run("sh", "-c", "echo early; sleep 60", seconds=seconds).stdout for seconds in PATIENCE)
    assert next(filter(None, outputs)) == b"early\n"


def test_two_sandboxes_share_nothing(place: Place) -> None:
    place.run("sh", "-c", f"echo x > {place.image.workdir}/left; echo x > /tmp/left")
    assert place.run("sh", "-c", f"ls -A {place.image.workdir} /tmp | grep left").stdout == b""


#: How the harness's two ends meet: the second command listens, at a socket that it may find open.
ISOLATION = (resources.files("pytest_crab.harness.inside") / "isolation.py").read_text("utf-8")
LISTEN = f"""{ISOLATION}
listener = inherited_listener()
if listener is None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address({{"socket_folder": sys.argv[1]}}))
    listener.listen(1)
listener.accept()[0].sendall(sys.stdin.buffer.read())
"""
CONNECT = f"""{ISOLATION}
while True:
    try:
        door = socket.socket(socket.AF_UNIX)
        door.connect(address({{"socket_folder": sys.argv[1]}}))
        break
    except OSError:
        time.sleep(0.05)
sys.stdout.buffer.write(door.makefile("rb").read())
"""


def test_commands_meet_in_one_sandbox(place: Place) -> None:
    python, where = place.image.interpreter, str(place.image.facts["socket_folder"])
    first = Command(argv=("sh", "-c", f'{python} -ISc "$1" "$2"; id -u', "sh", CONNECT, where))
    listen = f'id -u; {python} -ISc "$1" "$2"'
    second = Command(argv=("sh", "-c", listen, "sh", LISTEN, where), stdin=b"hello\n", user="oracle")
    one, two = place.runtime.execute(place.image, [first, second], limits=LIMITS_OF_TWO, seconds=20)
    assert (one.stdout, one.exit_code) == (b"hello\n1000\n", 0)
    assert (two.stdout, two.exit_code) == (b"1001\n", 0)


def test_commands_cannot_reach_each_other(place: Place) -> None:
    python, where = place.image.interpreter, str(place.image.facts["socket_folder"])
    look = "kill -9 -1; sleep 0.5; cat /tmp/secret /proc/[0-9]*/environ 2>/dev/null | grep -c OWN"
    first = Command(argv=("sh", "-c", f'{look}; {python} -ISc "$1" "$2"', "sh", CONNECT, where))
    script = f'umask 077; echo OWN > /tmp/secret; {python} -ISc "$1" "$2"; cat /tmp/secret'
    second = Command(argv=("sh", "-c", script, "sh", LISTEN, where), user="oracle", env={"OWN": "OWN"})
    one, two = place.runtime.execute(place.image, [first, second], limits=LIMITS_OF_TWO, seconds=20)
    assert one.stdout.strip() in (b"0", b"")
    assert (two.stdout, two.exit_code) == (b"OWN\n", 0)


def test_memory_of_commands_that_meet_is_limited(limited: Place) -> None:
    hungry = Command(argv=(limited.image.interpreter, "-c", "x = b'1' * 300_000_000; print(len(x))"), user="oracle")
    done = limited.runtime.execute(limited.image, [Command(argv=("true",)), hungry], limits=LIMITS, seconds=20)
    assert done[1].stdout == b""
    assert done[1].out_of_memory


def test_deadline_ends_commands_that_meet(place: Place) -> None:
    commands = [Command(argv=("sleep", "60")), Command(argv=("echo", "done"), user="oracle")]
    for seconds in PATIENCE:
        one, two = place.runtime.execute(place.image, commands, limits=LIMITS_OF_TWO, seconds=seconds)
        assert (one.exit_code, one.timed_out) == (None, True)
        if not two.timed_out:
            break
    assert (two.stdout, two.exit_code, two.timed_out) == (b"done\n", 0, False)


def test_concurrent_calls_keep_apart(place: Place) -> None:
    def echo(number: int) -> bytes:
        return place.run("cat", stdin=str(number).encode() * 1000).stdout

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(echo, range(8))) == [str(number).encode() * 1000 for number in range(8)]


def test_stop_from_another_thread_cancels(fresh: Place) -> None:
    timer = threading.Timer(1.0, fresh.runtime.stop)
    timer.start()
    with pytest.raises(Cancelled):
        fresh.run("sleep", "3600", seconds=3600)
    with pytest.raises(Cancelled):
        fresh.run("true")


def test_workspace_tells_what_changed(place: Place) -> None:
    with place.runtime.workspace(place.image, place.snapshot, limits=ORACLE_LIMITS) as workspace:
        script = (
            "echo 'VALUE = 9' > demo.py; head -c 999 /dev/urandom > blob; ln -s demo.py link; ln -s /etc/passwd far; "
            "mkdir -p new/deep; echo x > new/deep/run; chmod +x new/deep/run; rm pyproject.toml; "
            "echo '*' > .gitignore; mkdir -p .venv __pycache__ env; echo x > .venv/a.py; echo x > __pycache__/a.pyc; "
            "echo x > env/pyvenv.cfg; echo x > env/a.py; head -c 60000000 /dev/zero > .venv/big; pwd"
        )
        done = workspace.run(("sh", "-c", script), seconds=20)
        assert done.stdout.decode().strip() == workspace.root
        tree = place.snapshot.apply(workspace.diff())
    changes = {change.path: change for change in place.snapshot.changes(tree)}
    assert set(changes) == {".gitignore", "demo.py", "blob", "link", "far", "new/deep/run", "pyproject.toml"}
    assert changes["demo.py"].content == b"VALUE = 9\n"
    assert changes["blob"].content is not None
    assert len(changes["blob"].content) == 999
    assert (changes["link"].mode, changes["far"].content) == ("120000", b"/etc/passwd")
    assert changes["new/deep/run"].mode == "100755"
    assert changes["pyproject.toml"].content is None


def test_a_workspace_cannot_fill_the_disk(place: Place) -> None:
    with place.runtime.workspace(place.image, place.snapshot, limits=LIMITS) as workspace:
        write = "for i in 1 2 3 4 5 6; do head -c 5000000 /dev/zero > $i || exit 9; done; sleep 60; echo all"
        done = workspace.run(("sh", "-c", write), seconds=120)
        assert (done.exit_code in {None, 9}, done.timed_out, done.stdout) == (True, False, b"")


def test_workspace_shows_two_commits_and_git_works(place: Place) -> None:
    with place.runtime.workspace(place.image, place.snapshot, limits=ORACLE_LIMITS) as workspace:
        log = workspace.run(("git", "log", "--format=%H"), seconds=20)
        status = workspace.run(("git", "status", "--porcelain"), seconds=20)
        changed = workspace.run(("git", "diff", "--name-only", "main...HEAD"), seconds=20)
        assert workspace.diff() == ""
    assert log.stdout.decode().split() == [place.snapshot.head, place.snapshot.base]
    assert (status.stdout, status.exit_code) == (b"", 0)
    assert changed.stdout == b"demo.py\n"


def test_workspaces_share_nothing(place: Place) -> None:
    with place.runtime.workspace(place.image, place.snapshot, limits=ORACLE_LIMITS) as one:
        one.run(("sh", "-c", "echo x > left"), seconds=20)
        with place.runtime.workspace(place.image, place.snapshot, limits=ORACLE_LIMITS) as two:
            assert two.run(("ls", "left"), seconds=20).exit_code != 0


def test_workspace_survives_a_deadline(place: Place) -> None:
    mark = f"33{os.getpid()}.{time.monotonic_ns()}"
    with place.runtime.workspace(place.image, place.snapshot, limits=ORACLE_LIMITS) as workspace:
        for seconds in PATIENCE:
            late = workspace.run(("sh", "-c", f"echo x > left; setsid sleep {mark} & sleep {mark}"), seconds=seconds)
            assert (late.exit_code, late.timed_out) == (None, True)
            assert not _running(mark)
            if left := workspace.run(("cat", "left"), seconds=20).stdout:
                break
        assert left == b"x\n"


def test_who_closes_its_streams_is_ended_by_the_deadline_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_exec, "_NOTE_SECONDS", 0.5)
    mark = f"34{os.getpid()}.{time.monotonic_ns()}"
    script = ("sh", "-c", f"exec >&- 2>&-; exec sleep {mark}")
    with place.runtime.workspace(place.image, place.snapshot, limits=ORACLE_LIMITS) as workspace:
        done = workspace.run(script, seconds=2)
        assert (done.exit_code, done.timed_out) == (None, True)
        assert not _running(mark)
        assert workspace.run(("true",), seconds=20).exit_code == 0
    commands = [Command(argv=script), Command(argv=("sleep", "0"), user="oracle")]
    for seconds in PATIENCE:
        one, two = place.runtime.execute(place.image, commands, limits=LIMITS_OF_TWO, seconds=seconds)
        assert (one.exit_code, one.timed_out) == (None, True)
        if not two.timed_out:
            break
    assert (two.exit_code, two.timed_out) == (0, False)


def test_workspace_passes_input_environment_and_exit_code(place: Place) -> None:
    with place.runtime.workspace(place.image, place.snapshot, limits=ORACLE_LIMITS) as workspace:
        done = workspace.run(("sh", "-c", "cat; echo $WORD; exit 4"), stdin=b"in\n", env={"WORD": "out"}, seconds=20)
    assert (done.stdout, done.exit_code) == (b"in\nout\n", 4)


def test_identity_is_what_decides_the_image(place: Place) -> None:
    source = {"kind": "x"}
    identity = place.runtime.identity(place.instance, source)
    assert json.loads(json.dumps(identity)) == identity
    assert identity == place.runtime.identity(place.instance, source)
    environment = replace(place.instance.environment, env={"DEMO": "no"})
    assert identity != place.runtime.identity(replace(place.instance, environment=environment), source)
    assert identity != place.runtime.identity(place.instance, {"kind": "y"})


def test_a_build_that_fails_says_where(place: Place) -> None:
    environment = replace(place.instance.environment, install=("echo well", "echo oh no >&2; false"))
    broken = replace(place.instance, id="demo-broken", environment=environment)
    with pytest.raises(ImageError, match=r"demo-broken: .*install commands.*oh no"):
        place.runtime.prepare(broken, place.snapshot, {"kind": "broken"})


def test_a_build_gets_the_proxies_and_what_it_makes_tells_none(
    installed_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = "http://someone:geheim@proxy.invalid:3128"
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setenv("no_proxy", "*")
    environment = replace(installed_place.instance.environment, install=(
        'echo "$HTTPS_PROXY $no_proxy" > seen.txt', 'head -c 9000000 /dev/zero > "$HOME/fetched"', 'export HOME="$PWD"',
    ))  # fmt: skip
    proxied = replace(installed_place.instance, id="demo-proxied", environment=environment)
    runtime = installed_place.runtime
    image = runtime.prepare(proxied, installed_place.snapshot, {"kind": "proxied"})
    seen = replace(installed_place, instance=proxied, image=image).run("cat", f"{image.tree}/seen.txt").stdout
    assert seen.decode() == f"{proxy} *\n"
    if runtime.name == "docker":
        with runtime.engine.calling("reading an image") as client:
            layers = client.history(image.reference)
            told = json.dumps([layers, client.inspect_image(image.reference)])
        assert "geheim" not in told
        (size,) = (row["Size"] for row in layers if "install.sh; " in row["CreatedBy"])
        assert size < 9_000_000  # what is fetched into a home stays out of an image


def test_reinstall_of_a_broken_tree_is_the_revisions_fault(installed_place: Place) -> None:
    with pytest.raises(InstallFailed, match="demo-installed: the revised tree does not install"):
        _reinstall(installed_place, "[project]", "[project")


@pytest.mark.slow(reason="an install is waited for until its time is up")
def test_reinstall_ends_at_the_instances_timeout(installed_place: Place) -> None:
    for seconds in (12, 48, 200):  # head's install is tried too, and takes longer on a busy machine
        environment = replace(installed_place.instance.required_environment, timeout=seconds)
        hasty = replace(installed_place, instance=replace(installed_place.instance, environment=environment))
        with pytest.raises((InstallFailed, EngineError)) as raised:
            _reinstall(hasty, "1.0", "1.1", extra={"setup.py": "import time\ntime.sleep(500)\n"})
        if raised.type is InstallFailed:
            break
    assert raised.type is InstallFailed
    assert f"did not end within {seconds} s" in str(raised.value)


def test_reinstall_gives_the_projects_metadata_and_carries_nothing_else_over(installed_place: Place) -> None:
    hostile = (
        "import sysconfig, pathlib\n"
        "site = pathlib.Path(sysconfig.get_path('purelib'))\n"
        "(site / 'evil.pth').write_text('import os')\n"
        "(site / 'evil-1.dist-info').mkdir(exist_ok=True)\n"
        "(site / 'evil-1.dist-info' / 'METADATA').write_text('Name: evil')\n"
        "from setuptools import setup\nsetup()\n"
    )
    found = _reinstall(installed_place, 'version = "1.0"', 'version = "1.1"', extra={"setup.py": hostile})
    assert found.compiled == found.modules == {}
    assert set(found.metadata) == {
        f"demo_crab-1.1.dist-info/{name}" for name in ("METADATA", "entry_points.txt", "top_level.txt")
    }
    assert "Version: 1.1" in found.metadata["demo_crab-1.1.dist-info/METADATA"]
    listing = installed_place.run("ls", installed_place.image.site[0])
    assert b"evil" not in listing.stdout


def test_what_the_install_leaves_is_no_change(installed_place: Place) -> None:
    place = installed_place
    with place.runtime.workspace(place.image, place.snapshot, limits=ORACLE_LIMITS) as workspace:
        assert workspace.run(("cat", "left.txt"), seconds=20).stdout == b"left\n"
        assert workspace.diff() == ""


def _reinstall(place: Place, old: str, new: str, extra: dict[str, str] | None = None) -> InstallResult:
    snapshot = place.snapshot
    with place.runtime.workspace(place.image, snapshot, limits=ORACLE_LIMITS) as workspace:
        code = "import sys, pathlib; p = pathlib.Path(sys.argv[1]); p.write_text(sys.stdin.read())"
        head = snapshot.read(snapshot.head_tree, "pyproject.toml")
        assert head is not None
        files = {"pyproject.toml": head.decode().replace(old, new, 1), **(extra or {})}
        for name, text in files.items():
            done = workspace.run((place.image.interpreter, "-c", code, name), stdin=text.encode(), seconds=20)
            assert done.exit_code == 0
        tree = snapshot.apply(workspace.diff())
    return place.runtime.reinstall(place.image, place.instance, snapshot, tree)


def _running(mark: str) -> list[str]:
    """Processes of this machine, in containers too, that have ``mark`` on their command line."""
    deadline = time.monotonic() + 300
    while True:
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        found = [line for line in listed.splitlines() if mark in line]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def test_pytest_loads_no_plugin_that_the_machine_happens_to_have(place: Place) -> None:
    """The instance names no package; pytest-xdist lies beside the pytest that runs this test."""
    asked = harness.CommandRun(
        id="c", state="head", seconds=60, command=("python", "-m", "pytest", "-n", "0", "--collect-only")
    )
    environment = place.instance.required_environment
    job = harness.Job(image=place.image, environment=environment, states={"head": ()}, runs=[asked])
    done = place.runtime.execute(place.image, harness.commands(job), limits=ORACLE_LIMITS, seconds=job.seconds)
    assert [run.exit_code for run in harness.parse(job, done).runs] == [pytest.ExitCode.USAGE_ERROR]
