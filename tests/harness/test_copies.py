"""Restoring by difference: whatever a run did to its copy of the tree is undone, and built files keep their times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

import pytest_crab
from pytest_crab.harness.inside import copies, tree
from pytest_crab.runtimes import bubblewrap

#: What a run does to its copy, so that one who looks at sizes and times sees nothing of it.
ATTACKS = {
    "times set back": "spoil('pack/a.py')",
    "a hard link": "os.mkdir('d'); os.link('pack/a.py', 'd/b'); spoil('d/b'); os.unlink('d/b'); os.rmdir('d')",
    "a hard link beside it": "os.link('pack/a.py', 'pack/b'); spoil('pack/b'); os.unlink('pack/b')",
    "a hard link elsewhere": (
        "out = tempfile.mkdtemp(dir='..')\n"
        "try: os.link('pack/a.py', out + '/b')\n"
        "except OSError: spoil('pack/a.py')\n"
        "else: spoil(out + '/b')"
    ),
    "a file that is exchanged": "old = os.stat('pack/a.py'); open('x', 'w').write('EVIL = 2\\n')\n"
    "os.utime('x', ns=(old.st_atime_ns, old.st_mtime_ns)); os.rename('x', 'pack/a.py')",
    "a folder behind a link": "out = tempfile.mkdtemp(dir='..') + '/pack'; shutil.move('pack', out)\n"
    "os.symlink(out, 'pack'); spoil('pack/a.py')",
    "a link that leads elsewhere": "os.unlink('link'); os.symlink('top.py', 'link')",
    "shared memory": "memory('pack/a.py')",
    "shared memory that was opened by a link": "os.symlink('pack/a.py', 's'); memory('s'); os.unlink('s')",
    "more opened files than are told": "[open(p).close() for _ in range(9000) for p in ('top.py', 'pack/c.py')]\n"
    "memory('pack/a.py')",
    "a name cut short": "old = os.stat('pack/a.py'); os.truncate('pack/a.py', 0); os.truncate('pack/a.py', 9)\n"
    "os.utime('pack/a.py', ns=(old.st_atime_ns, old.st_mtime_ns))",
    "rights": "os.chmod('pack/a.py', 0o777)",
    "a closed folder": "spoil('pack/deep/e.py'); os.chmod('pack/deep', 0); os.chmod('pack', 0)",
    "a folder for a file": "os.unlink('pack/a.py'); os.mkdir('pack/a.py')",
    "a pipe for a file": "os.unlink('pack/a.py'); os.mkfifo('pack/a.py')",
}  # fmt: skip

#: Does each attack to two copies, which are restored by size and time and as the harness does; what is then not right.
PLAY = """
import json, mmap, os, shutil, stat, subprocess, sys, tempfile, types
pristine, naive, work, attacks, parts = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4]), sys.argv[5:]
modules = []
for part in parts:
    modules.append(types.ModuleType("part"))
    exec(open(part).read(), modules[-1].__dict__)
tree, copies = modules
HELP = '''
import mmap, os, shutil, tempfile
def spoil(path):
    old = os.stat(path)
    with open(path, 'r+b') as file:
        file.write(b'EVIL')
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
def memory(path):
    old = os.stat(path)
    with open(path, 'r+b') as file:
        shared = mmap.mmap(file.fileno(), 9)
        shared[0]
        shared[0:4] = b'EVIL'
    if os.stat(path).st_mtime_ns != old.st_mtime_ns:
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
'''
def quick(folder=""):
    for name in os.listdir(os.path.join(pristine, folder)):
        path = os.path.join(folder, name)
        right, seen = os.path.join(pristine, path), os.path.join(naive, path)
        if os.path.isdir(right):
            quick(path)
        elif not os.path.exists(seen) or facts(right) != facts(seen):
            shutil.copy2(right, seen)
def facts(path):
    now = os.stat(path)
    return now.st_size, now.st_mtime_ns, stat.S_IFMT(now.st_mode)
def state(root):
    found = {}
    for folder, folders, names in os.walk(root):
        for name in [".", *folders, *names]:
            path = os.path.join(folder, name)
            now = os.lstat(path)
            content = os.readlink(path) if os.path.islink(path) else open(path).read() if os.path.isfile(path) else None
            found[os.path.relpath(path, root)] = (now.st_mode, now.st_mtime_ns, content)
            if os.path.isfile(path) and not os.path.islink(path):
                assert now.st_nlink == 1, path
    return found
copy = copies.Copy(tree, pristine, work)
result = {}
for name, attack in attacks.items():
    tree.copy(pristine, naive)
    copy.restore([["top.py", "100644", "Tk9UID0gMQo="], ["new/x.py", "100644", ""], ["pack/c.py", "100644", None]], {})
    copy.restore([], {})
    made, found = copy.root, []
    for place in (naive, work):
        done = subprocess.run([sys.executable, "-c", HELP + attack], cwd=place, stderr=subprocess.PIPE)
        found.append(done.stderr.decode()[-400:])
        try:
            quick() if place == naive else copy.restore([], {})
            wrong = state(place) != state(pristine)
        except (OSError, AssertionError):
            wrong = True
        found.append(wrong)
    result[name] = [*found, copy.root is not made]
print(json.dumps([copy.apart, result]))
"""


def written(folder: Path) -> Path:
    """A pristine tree, built some time ago."""
    root = folder / "tree"
    (root / "pack" / "deep").mkdir(parents=True)
    for name in ("top.py", "pack/a.py", "pack/c.py", "pack/deep/e.py", *(f"pack/deep/f{n}.py" for n in range(20))):
        (root / name).write_text("GOOD = 1\n")
    (root / "link").symlink_to("pack/a.py")
    for path in [*root.rglob("*"), root]:
        os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    return root


@pytest.mark.parametrize("apart", [True, False], ids=["a mount of its own", "a folder among others"])
def test_whatever_a_run_did_to_its_copy_is_undone_and_is_not_by_sizes_and_times(
    tmp_path: Path, without: Callable[[str, str], NoReturn], *, apart: bool
) -> None:
    root = written(tmp_path)
    places = [tmp_path / "naive", tmp_path / "work"]
    around: list[str] = []
    for place in places:
        place.mkdir()
        around += ["--tmpfs", str(place)]
    if apart and (problem := bubblewrap.problem()):
        without("bubblewrap", problem)
    words = [sys.executable, "-c", PLAY, str(root), *map(str, places), json.dumps(ATTACKS)]
    words += [str(module.__file__) for module in (tree, copies)]
    shown = ("/usr", "/bin", "/lib", "/lib64", sys.base_prefix, sys.prefix, *pytest_crab.__path__, str(tmp_path))
    binds = [word for path in shown for word in ("--bind-try", path, path)]  # not ``/``: mounts below it come and go
    bwrap = ["bwrap", "--dev", "/dev", "--proc", "/proc", *binds, *around] if apart else []
    done = subprocess.run([*bwrap, *words], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    was_apart, result = json.loads(done.stdout)
    assert was_apart is apart
    assert {name: found for name, found in result.items() if found[0] or found[2]} == {}, "attacks that end early"
    assert [name for name, found in result.items() if not found[1]] == [], "attacks that do nothing"
    assert [name for name, found in result.items() if found[3]] == []
    assert [name for name, found in result.items() if found[4]] == ["more opened files than are told"], "copied whole"


def test_what_differs_from_what_was_built_has_a_later_time_and_all_else_its_own(tmp_path: Path) -> None:
    root, work = written(tmp_path), tmp_path / "work"
    work.mkdir()
    copy = copies.Copy(tree, str(root), str(work))
    for content in ("Tk9UID0gMQo=", "Tk9UID0gMgo="):
        copy.restore([["top.py", "100644", content]], {})
        times = {path.relative_to(work).as_posix(): path.lstat().st_mtime_ns for path in work.rglob("*.py")}
        assert times.pop("top.py") > 10**18 and set(times.values()) == {10**18}
    copy.restore([], {})
    assert {path.lstat().st_mtime_ns for path in [*work.rglob("*"), work]} == {10**18}


def test_a_file_that_nothing_touched_is_not_copied_again(tmp_path: Path) -> None:
    root, work = written(tmp_path), tmp_path / "work"
    work.mkdir()
    copy = copies.Copy(tree, str(root), str(work))
    copy.restore([], {})
    kept = {path: path.lstat().st_ctime_ns for path in work.rglob("*.py")}
    (work / "top.py").write_text("EVIL")
    (work / "pack" / "c.py").unlink()
    copy.restore([], {})
    now = {path: path.lstat().st_ctime_ns for path in work.rglob("*.py")}
    assert {path.name for path in now if now[path] != kept[path]} == {"top.py", "c.py"}
