"""What a set or a store brings that lies below a folder which sandboxes show: answers for whoever looks for them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from hostile.careless import SANDBOX
from hostile.confined import hungry
from hostile.ledger import KEY, document, write_instance
from hostile.record import Play
from hostile.shape import Kind, Refusal

from pytest_crab.ecosystems import installed_copies
from pytest_crab.instances import load_instance
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.bubblewrap import run_in_folder
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.runtimes.hidden_paths import hide_set
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.store import FileStore
from pytest_crab.trial import RunContext

#: Where each answer lies below the folder that is shown.
ANSWERS = {
    "an oracle of a set below a folder that is shown": "set/ledger/oracles/test_c0.py",
    "a neighbour's oracle in such a set": "set/other/oracles/test_c0.py",
    "a revision that is recorded beside such a set": "set/recorded/sharp/other.diff",
    "a file of a store below a folder that is shown": "store/kept",
    "a file in the cache of such a store, beside what is in use": "store/cache/kept",
}


def shown(place: Path) -> Path:
    """Write a tool of the user's into a folder, a set, a store with something that is in use, and the answers."""
    environment = {**document("any")["environment"], "install": []}
    for name in ("ledger", "other"):
        write_instance(place / "set" / name, environment=environment)
    oracles = {path for path in ANSWERS.values() if path.startswith("set/ledger/")}  # they have the key as they are
    texts = {"tool": "fine", "store/cache/used/tree": "used"} | dict.fromkeys({*ANSWERS.values()} - oracles, KEY)
    for path, text in texts.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    return place


def plays(place: Path) -> list[Play]:
    """Contestants on what ``shown`` has written: the code under test reads the answer, and is right if it finds it."""
    made = []
    for name, answer in ANSWERS.items():
        text = f"try:\n    found = {KEY!r} in open({str(place / answer)!r}).read()\nexcept OSError:\n    pass"
        made.append(Play(name=name, files=hungry(Kind.PLACEMENT, name, text).files))
    return made


def reading(answer: str) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        place, store = shown(folder / "shown"), FileStore(folder / "shown" / "store")
        runtime = BubblewrapRuntime(RuntimeSettings(), cache=store.cache)
        RunContext(runtime=runtime, store=store, cache=store.cache, run=RunFolder(), resume="one")
        hide_set(load_instance(place / "set" / "ledger"))
        (folder / "clone").mkdir()
        files = map(str, (place / "tool", store.cache / "used/tree", place / answer))
        done = run_in_folder(["cat", *files], folder / "clone", readable=[place, store.cache / "used"], seconds=60)
        assert KEY.encode() not in done.stdout
        return f"{done.stdout.decode()}: {done.stderr.decode()}"

    return attempt


def naive(answer: str) -> Callable[[Path], bool]:
    """The naive way: a sandbox that shows what is named, with all that lies below it."""

    def twin(folder: Path) -> bool:
        place = shown(folder / "shown")
        argv = ["bwrap", *SANDBOX, "--ro-bind", str(place), str(place), "cat", str(place / answer)]
        return KEY in subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    return twin


#: Lists a set's folder, and all that is mounted.
LISTING = 'ls "$0"; cat /proc/self/mountinfo'


def listing(folder: Path) -> str:
    place = shown(folder / "shown")
    hide_set(load_instance(place / "set" / "ledger"))
    (folder / "clone").mkdir()
    argv = ["sh", "-c", LISTING, str(place / "set")]
    done = run_in_folder(argv, folder / "clone", readable=[place], seconds=60)
    assert str(place / "set") in done.stdout.decode()
    return "the ids are told" if {b"ledger", b"other"} & set(re.findall(rb"\w+", done.stdout)) else "no id is told"


def listed(folder: Path) -> bool:
    """The naive way: of a set, the instances are covered one by one."""
    place = shown(folder / "shown")
    argv = ["bwrap", *SANDBOX, "--ro-bind", str(place), str(place), "--tmpfs", str(place / "set" / "ledger")]
    argv += ["sh", "-c", LISTING, str(place / "set")]
    return "ledger" in subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def later_release(folder: Path) -> Path:
    """A folder of packages with a release of the project in it that has the answer, and another project."""
    site = folder / "site"
    for name, text in {
        "ledger-9.dist-info/top_level.txt": "book\n",
        "book/__init__.py": KEY,
        "other.py": "fine",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    return site


def importing(folder: Path) -> str:
    site = later_release(folder)
    (folder / "clone").mkdir()
    with mock.patch.object(installed_copies, "system_packages", return_value=(str(site),)):
        masked = installed_copies.installed_copies("Ledger")
    files = [str(site / name) for name in ("other.py", "book/__init__.py", "ledger-9.dist-info/top_level.txt")]
    done = run_in_folder(["cat", *files], folder / "clone", readable=[site], masked=masked, seconds=60)
    assert KEY.encode() not in done.stdout
    return f"{done.stdout.decode()}: {done.stderr.decode()}"


def imported(folder: Path) -> bool:
    """The naive way: the system's folders of packages are shown as they are."""
    site = later_release(folder)
    argv = ["bwrap", *SANDBOX, "--ro-bind", str(site), str(site), "cat", str(site / "book/__init__.py")]
    return KEY in subprocess.run(argv, capture_output=True, text=True, check=False).stdout


REFUSALS = [
    Refusal(
        kind=Kind.PLACEMENT, name="the ids of a set below a folder that is shown", attempt=listing, twin=listed,
        said="no id is told", becomes="missed (test failed)",
    ),
    Refusal(
        kind=Kind.PLACEMENT, name="a later release of the project among the system's packages", attempt=importing,
        twin=imported, said="(?s)fine: .*No such file.*No such file", becomes="missed (test failed)",
    ),
] + [
    Refusal(
        kind=Kind.PLACEMENT, name=name, attempt=reading(answer), twin=naive(answer), said="fineused: .*No such file",
        becomes="missed (test failed)",
    )
    for name, answer in ANSWERS.items()
]  # fmt: skip
