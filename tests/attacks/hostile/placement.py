"""What a set or a store brings that lies below a folder which sandboxes show: answers for whoever looks for them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from hostile.confined import hungry
from hostile.ledger import KEY, document, write_instance
from hostile.record import Play
from hostile.shape import Kind, Refusal

from pytest_crab.instances import load_instance
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
        runtime = BubblewrapRuntime(cache=store.cache)
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
        sandbox = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--tmpfs", str(folder)]
        argv = [*sandbox, "--ro-bind", str(place), str(place), "cat", str(place / answer)]
        return KEY in subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    return twin


REFUSALS = [
    Refusal(
        kind=Kind.PLACEMENT, name=name, attempt=reading(answer), twin=naive(answer), said="fineused: .*No such file",
        becomes="missed (test failed)",
    )
    for name, answer in ANSWERS.items()
]  # fmt: skip
