from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pytest_crab import serialization
from pytest_crab.errors import Cancelled, StoreError
from pytest_crab.store import FileStore

KEY = serialization.digest("a step's inputs")

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "crab")


def test_what_was_put_comes_back(store: FileStore) -> None:
    assert store.get("review", KEY) is None
    store.put("review", KEY, {"findings": [], "seconds": 1.5})
    assert FileStore(store.folder).get("review", KEY) == {"findings": [], "seconds": 1.5}


@settings(max_examples=30)
@given(value=plain_values)
def test_every_plain_value_survives(value: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = FileStore(tmp_path_factory.mktemp("store"))
    store.put("verdict", KEY, value)
    assert store.get("verdict", KEY) == value


def test_steps_do_not_share_keys(store: FileStore) -> None:
    store.put("review", KEY, 1)
    assert store.get("revision", KEY) is None


def test_notes_stay_until_their_object_is_put(store: FileStore) -> None:
    assert store.notes("answers", KEY) == []
    for number in range(3):
        store.note("answers", KEY, {"number": number})
    with store.parts("answers")[0].open("ab") as file:
        file.write(b'{"number": 3, "cut')  # its process was killed
    assert FileStore(store.folder).notes("answers", KEY) == [{"number": 0}, {"number": 1}, {"number": 2}]
    assert store.notes("review", KEY) == []
    store.put("review", KEY, 1)
    assert len(store.notes("answers", KEY)) == 3
    store.put("answers", KEY, 1)
    assert (store.notes("answers", KEY), store.parts("answers")) == ([], [])
    store.note("answers", KEY, 1)
    store.drop_notes("answers", KEY)
    assert store.notes("answers", KEY) == []


@pytest.mark.parametrize("damage", [b"", b"{", b'{"value": 1}', b"[]", b"\xff\xfe"])
def test_a_damaged_object_is_absent_and_kept_aside(store: FileStore, damage: bytes) -> None:
    store.put("proof", KEY, {"runs": 2})
    (path,) = (path for _, path in store.objects())
    path.write_bytes(damage)
    assert store.get("proof", KEY) is None
    assert (store.folder / "damaged" / path.name).read_bytes() == damage
    store.put("proof", KEY, {"runs": 3})
    assert store.get("proof", KEY) == {"runs": 3}


def test_an_object_that_is_made_anew_meanwhile_is_not_moved_aside(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("proof", KEY, {"runs": 2})
    (path,) = (path for _, path in store.objects())
    path.write_bytes(b"{")
    real = json.loads

    def loads(text: Any) -> Any:
        if text == b"{":
            FileStore(store.folder).put("proof", KEY, {"runs": 3})  # by another, who has found it damaged too
        return real(text)

    monkeypatch.setattr(json, "loads", loads)
    assert store.get("proof", KEY) == {"runs": 3}
    assert path.exists()


def test_one_changed_value_is_noticed(store: FileStore) -> None:
    store.put("verdict", KEY, {"reason": "test failed"})
    (path,) = (path for _, path in store.objects())
    path.write_text(path.read_text().replace("test failed", "green"))
    assert store.get("verdict", KEY) is None


def test_an_object_of_another_key_is_not_taken(store: FileStore) -> None:
    other = serialization.digest("other inputs")
    store.put("review", other, "theirs")
    (path,) = (path for _, path in store.objects())
    target = path.parents[1] / KEY[:2] / f"{KEY}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(path.read_bytes())
    assert store.get("review", KEY) is None


def test_a_file_in_the_way_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "crab").write_text("not a folder")
    with pytest.raises(StoreError, match=r"cannot be written .*--crab-store"):
        FileStore(tmp_path / "crab").put("review", KEY, 1)


def test_a_full_disk_leaves_the_old_object(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("review", KEY, "old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pytest_crab.atomic.os.fsync", full)
    with pytest.raises(StoreError, match="free some space"):
        store.put("review", KEY, "new")
    monkeypatch.undo()
    assert store.get("review", KEY) == "old"
    assert not list(store.folder.rglob(".*.json.*"))


def test_the_store_keeps_itself_out_of_version_control_and_backups(store: FileStore) -> None:
    store.put("review", KEY, 1)
    assert (store.folder / ".gitignore").read_text() == "*\n"
    assert (store.folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_forgetting(store: FileStore) -> None:
    store.put("review", KEY, 1)
    store.forget("review", KEY)
    store.forget("review", KEY)
    assert store.get("review", KEY) is None


def test_keys_cannot_leave_the_store(store: FileStore) -> None:
    with pytest.raises(ValueError, match="no object can be called"):
        store.get("review", "../../etc/passwd")
    with pytest.raises(ValueError, match="no object can be called"):
        store.put("../review", KEY, 1)


COUNT_UP = """
import sys
from pathlib import Path
from pytest_crab.store import FileStore
store = FileStore(Path(sys.argv[1]))
for _ in range(10):
    with store.lock("review", sys.argv[2]):
        store.put("review", sys.argv[2], (store.get("review", sys.argv[2]) or 0) + 1)
"""


def test_the_lock_holds_across_threads_and_processes(store: FileStore) -> None:
    def count_up() -> None:
        own = FileStore(store.folder)
        for _ in range(10):
            with own.lock("review", KEY):
                own.put("review", KEY, (own.get("review", KEY) or 0) + 1)

    processes = [subprocess.Popen([sys.executable, "-c", COUNT_UP, str(store.folder), KEY]) for _ in range(2)]
    threads = [threading.Thread(target=count_up) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait() for process in processes] == [0, 0]
    assert store.get("review", KEY) == 40


def test_objects_are_readable_json(store: FileStore) -> None:
    store.put("revision", KEY, {"diff": "--- a\n"})
    (path,) = (path for _, path in store.objects())
    assert json.loads(path.read_text())["value"] == {"diff": "--- a\n"}


def test_a_stopped_run_does_not_wait_for_another(store: FileStore) -> None:
    stopped = threading.Event()
    with store.lock("review", KEY):
        stopped.set()
        with pytest.raises(Cancelled, match="waited for another"), FileStore(store.folder).lock("review", KEY, stopped):
            pytest.fail("two hold the same lock")
