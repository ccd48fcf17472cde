"""Installing a revised tree again: what of it is believed, and whose fault it is that there is nothing to believe."""

from __future__ import annotations

import base64
import dataclasses
import json
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab.errors import DiskShort, EngineError, InstallFailed
from pytest_crab.instances import load_instance
from pytest_crab.protocols import Command, Completed, FileChange, Image, InstallResult
from pytest_crab.runtimes import reinstall
from pytest_crab.types import Instance

#: Leaves metadata that holds the name in the tree.
INSTALL = "mkdir -p $SITE/demo-1.0.dist-info && echo Name: $(cat name) > $SITE/demo-1.0.dist-info/METADATA"
NAME = FileChange(path="name", mode="100644", content=b"revised")
FOUND = InstallResult(metadata={"demo-1.0.dist-info/METADATA": "Name: revised\n"})

Install = Callable[[Command], Completed]


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    quickstart = min(Path(__file__, "../../../instances/quickstart").resolve().glob("*/instance.yaml"))
    known = load_instance(quickstart.parent)
    return dataclasses.replace(known, environment=dataclasses.replace(known.environment, install=(INSTALL,)))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A tree with a name in it, and the list of what is installed, which is nothing."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/name").write_text("head")
    (tmp_path / "distributions").write_text("")
    return tmp_path


def on_this_machine(place: Path) -> Install:
    """What runs the real program, without a sandbox: each time in the tree as it is now, without packages."""
    site, tree, head = place / "site", place / "tree", place / "head"
    shutil.copytree(tree, head, symlinks=True)

    def install(command: Command) -> Completed:
        subprocess.run(["rm", "-rf", site, tree], check=True)
        shutil.copytree(head, tree, symlinks=True)
        (site / "demo-0.9.dist-info").mkdir(parents=True)
        env = {"PATH": "/usr/bin:/bin", "SITE": str(site)}
        done = subprocess.run(list(command.argv), input=command.stdin, env=env, capture_output=True, check=False)
        assert command.first
        return Completed(exit_code=done.returncode, stdout=done.stdout, stderr=done.stderr)

    return install


def reinstalled(instance: Instance, place: Path, install: Install) -> InstallResult:
    image = Image(
        key="k",
        reference="r",
        tree="/t",
        workdir=str(place / "tree"),
        interpreter=sys.executable,
        site=(str(place / "site"),),
    )
    return reinstall.reinstall(image, instance, [NAME], {"name"}, str(place / "distributions"), install)


def is_revised(command: Command) -> bool:
    return b'["name", ' in command.stdin


def test_the_projects_own_metadata_is_what_comes_back(instance: Instance, place: Path) -> None:
    assert reinstalled(instance, place, on_this_machine(place)) == FOUND


SPOILT: dict[str, Callable[[Completed], Completed]] = {
    "a line before": lambda done: dataclasses.replace(done, stdout=b'{"x": 1}\n' + done.stdout),
    "an open line behind": lambda done: dataclasses.replace(done, stdout=done.stdout + b'{"x": '),
    "a result of its own": lambda done: dataclasses.replace(
        done, stdout=json.dumps(dataclasses.asdict(FOUND)).encode()
    ),
    "nothing": lambda done: dataclasses.replace(done, stdout=b""),
    "half of it": lambda done: dataclasses.replace(done, stdout=done.stdout[:-9]),
    "an exit code": lambda done: dataclasses.replace(done, exit_code=1),
    "no exit code": lambda done: dataclasses.replace(done, exit_code=None, too_much_disk=True),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_result_that_only_the_revision_spoils_is_its_own_doing(
    instance: Instance, place: Path, spoil: Callable[[Completed], Completed]
) -> None:
    real = on_this_machine(place)
    with pytest.raises(InstallFailed, match="the revised tree does not install"):
        reinstalled(instance, place, lambda command: (spoil if is_revised(command) else _same)(real(command)))


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_result_that_is_spoilt_on_head_as_well_is_the_machines_doing(
    instance: Instance, place: Path, spoil: Callable[[Completed], Completed]
) -> None:
    real = on_this_machine(place)
    with pytest.raises(EngineError, match="the install of head does not work"):
        reinstalled(instance, place, lambda command: spoil(real(command)))


@pytest.mark.parametrize(("short", "outcome"), [(1, FOUND), (2, InstallFailed)])
def test_a_disk_that_is_short_whenever_the_revision_installs_is_its_doing(
    instance: Instance, place: Path, short: int, outcome: InstallResult | type[Exception]
) -> None:
    real, seen = on_this_machine(place), []

    def install(command: Command) -> Completed:
        seen.append(is_revised(command))
        if is_revised(command) and sum(seen) <= short:
            raise DiskShort("less than is needed was left")
        return real(command)

    if isinstance(outcome, InstallResult):
        assert reinstalled(instance, place, install) == outcome
    else:
        with pytest.raises(outcome, match="less than is needed"):
            reinstalled(instance, place, install)
    assert seen == [True, False, True]


@pytest.mark.parametrize("late", [1, 2])
def test_an_install_that_takes_too_long_is_made_once_more(instance: Instance, place: Path, late: int) -> None:
    real, seen = on_this_machine(place), []

    def install(command: Command) -> Completed:
        seen.append(is_revised(command))
        if is_revised(command) and sum(seen) <= late:
            return Completed(exit_code=None, stdout=b"", stderr=b"", timed_out=True)
        return real(command)

    if late == 1:
        assert reinstalled(instance, place, install) == FOUND
    else:
        with pytest.raises(InstallFailed, match=rf"within {instance.required_environment.timeout} s"):
            reinstalled(instance, place, install)
    assert seen == [True, False, True]


def test_a_disk_that_is_short_for_head_too_is_the_machines_doing(instance: Instance, place: Path) -> None:
    def install(_: Command) -> Completed:
        raise DiskShort("less than is needed was left")

    with pytest.raises(EngineError, match="less than is needed"):
        reinstalled(instance, place, install)


def test_only_metadata_of_bounded_size_is_carried_over() -> None:
    said = {
        "demo-1.0.dist-info/METADATA": "Name: demo",
        "demo-1.0.dist-info/RECORD": "no",
        "../demo-1.0.dist-info/METADATA": "no",
        "demo-1.0.dist-info/entry_points.txt": "x" * 300_000,
        "evil.pth": "import os",
        "demo-1.0.dist-info/top_level.txt": 5,
    }
    sent = {"metadata": said, "compiled": {}, "modules": {}}
    believed = reinstall.believed(json.dumps(sent).encode())
    assert believed == InstallResult(metadata={"demo-1.0.dist-info/METADATA": "Name: demo"})


def _same(done: Completed) -> Completed:
    return done


#: What a build of head left: a module of an old source, what tells the build that it is fresh, and a link to a folder.
BUILT = "cp name old.so && echo fresh > stamp && ln -s . loop && mkdir -p build && cp name build/kept.so"
#: Compiles only what has not been compiled, as builds do that go by the times of files.
COMPILE = f"""
set -e
{INSTALL}
[ -e stamp ] || cp name $SITE/top.so
[ -e stamp ] || cp name new.so
"""


def test_nothing_that_heads_build_left_serves_the_revised_tree(instance: Instance, place: Path) -> None:
    subprocess.run(["sh", "-c", BUILT], cwd=place / "tree", check=True)
    (place / "tree/.git").mkdir()
    (place / "tree/.git/kept.so").touch()
    environment = dataclasses.replace(instance.required_environment, install=(COMPILE,))
    made = reinstalled(dataclasses.replace(instance, environment=environment), place, on_this_machine(place))
    assert set(made.compiled) == {"old.so", "build/kept.so", "new.so"}
    assert made.compiled["old.so"] is made.compiled["build/kept.so"] is None
    assert [unpacked(text) for text in (made.compiled["new.so"], made.modules["top.so"])] == [b"revised", b"revised"]
    assert sorted(path.name for path in (place / "tree").iterdir()) == [".git", "name", "new.so"]
    assert (place / "tree/.git/kept.so").exists()


def test_what_is_compiled_as_at_head_is_not_carried_over(instance: Instance, place: Path) -> None:
    (place / "tree/same.so").write_text("same")
    same = f"{INSTALL}; printf same > same.so"
    environment = dataclasses.replace(instance.required_environment, install=(same,))
    assert reinstalled(dataclasses.replace(instance, environment=environment), place, on_this_machine(place)) == FOUND


def test_more_compiled_code_than_is_carried_is_the_revisions_doing(instance: Instance, place: Path) -> None:
    large = f"{INSTALL}; grep -q head name || truncate -s 200M large.so"  # what is none at head
    environment = dataclasses.replace(instance.required_environment, install=(large,))
    with pytest.raises(InstallFailed, match=r"compiles .* too much"):
        reinstalled(dataclasses.replace(instance, environment=environment), place, on_this_machine(place))


def unpacked(text: str | None) -> bytes:
    assert text is not None
    return zlib.decompress(base64.b64decode(text))
