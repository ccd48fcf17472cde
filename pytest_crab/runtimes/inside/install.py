"""Put changes into a tree, run its install commands and send what they made: see protocols.InstallResult.

The one argument is JSON: workdir, site, distributions (a file of the names in site before the project's own install),
script and compiled (how the names of compiled files end). Standard input is JSON: tracked, the paths of head's files,
and changes, a list of [path, mode, content in base64 or null]. The result is JSON, sent over the channel; what the
commands print goes to standard error.
"""

# ruff: noqa: PTH101, PTH102, PTH106, PTH108, PTH112, PTH113, PTH114, PTH118, PTH123, PTH202, PTH206, PTH208, PTH211
# Few imports, for a fast start; annotations are quoted, since the oldest interpreters cannot evaluate them.
import base64
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import zlib
from typing import Any

KEPT = ("METADATA", "entry_points.txt", "top_level.txt")
MOST = 256 * 1024
#: Bytes of a folder's compiled files that differ from head's, unpacked and packed: one message holds all.
MOST_COMPILED, MOST_PACKED = 128 << 20, 24 << 20


def place(root: "str", path: "str") -> "str":
    """Return the place of a path; links on the way to it are taken out first."""
    folder = root
    for part in path.split("/")[:-1]:
        folder = os.path.join(folder, part)
        if os.path.islink(folder) or os.path.isfile(folder):
            os.unlink(folder)
        if not os.path.isdir(folder):
            os.mkdir(folder)
    return os.path.join(root, path)


def put(root: "str", path: "str", mode: "str", content: "str | None") -> "None":
    """Make one file of the tree what it should be."""
    target = place(root, path)
    if os.path.islink(target) or os.path.isfile(target):
        os.unlink(target)
    elif os.path.isdir(target):
        shutil.rmtree(target)
    if content is None:
        return
    data = base64.b64decode(content)
    if mode == "120000":
        os.symlink(os.fsdecode(data), target)
        return
    with open(target, "wb") as handle:
        handle.write(data)
    os.chmod(target, 0o755 if mode == "100755" else 0o644)


def clear(root: "str", tracked: "set[str]") -> "None":
    """Remove all that a build left in a tree: what an older one compiled must not serve, nor tell that it is fresh."""
    for folder, folders, names in os.walk(root, topdown=False):
        inside = os.path.relpath(folder, root)
        if inside.split(os.sep)[0] == ".git":
            continue
        for name in names + [name for name in folders if os.path.islink(os.path.join(folder, name))]:
            if os.path.normpath(os.path.join(inside, name)) not in tracked:
                os.unlink(os.path.join(folder, name))
        if folder != root and not os.listdir(folder):
            os.rmdir(folder)


def digests(root: "str", endings: "tuple[str, ...]") -> "dict[str, str]":
    """Return the digest of each compiled file below a folder, by path."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(endings) and stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as handle:
                    found[os.path.relpath(path, root)] = hashlib.sha256(handle.read()).hexdigest()
    return found


def packed(root: "str", before: "dict[str, str]", after: "dict[str, str]") -> "dict[str, str | None]":
    """Return what has changed of compiled files, packed; None for what is gone. Ends the program if it is too much."""
    found = {path: None for path in before if path not in after}  # type: dict[str, str | None]
    unpacked = size = 0
    for path in [path for path in sorted(after) if after[path] != before.get(path)]:
        unpacked += os.path.getsize(os.path.join(root, path))
        if unpacked <= MOST_COMPILED:
            with open(os.path.join(root, path), "rb") as handle:
                text = found[path] = base64.b64encode(zlib.compress(handle.read())).decode()
            size += len(text)
        if unpacked > MOST_COMPILED or size > MOST_PACKED:
            sys.exit("failed: what it compiles otherwise than head is too much")
    return found


def project(name: "str") -> "str":
    """Return the normalised project name of a dist-info folder."""
    return re.sub(r"[-_.]+", "-", name[: -len(".dist-info")].rsplit("-", 1)[0]).lower()


def own(site: "str", before: "set[str]", workdir: "str") -> "set[str]":
    """Return the projects that the install added: those installed from the tree, if the installer says which."""
    added = [name for name in os.listdir(site) if name.endswith(".dist-info") and name not in before]
    local = []
    for name in added:
        try:
            with open(os.path.join(site, name, "direct_url.json")) as handle:
                url = json.load(handle).get("url", "")
        except (OSError, ValueError):
            continue
        if url.rstrip("/").startswith("file://" + workdir.rstrip("/")):
            local.append(name)
    return {project(name) for name in (local or added)}


def collect(site: "str", projects: "set[str]") -> "dict[str, str]":
    """Return path to text for the metadata files of some projects."""
    found = {}
    for name in sorted(os.listdir(site)):
        if name.endswith(".dist-info") and project(name) in projects:
            for kept in KEPT:
                path = os.path.join(site, name, kept)
                if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) <= MOST:
                    with open(path, encoding="utf-8", errors="replace") as handle:
                        found[name + "/" + kept] = handle.read()
    return found


def run(script: "str", workdir: "str") -> "int":
    """Run the install commands; what they leave behind is this process's to collect, where it is the first one."""
    null = subprocess.DEVNULL
    process = subprocess.Popen(["sh", "-c", script], cwd=workdir, stdin=null, stdout=sys.stderr)
    while True:
        pid, status = os.wait()
        if pid == process.pid:
            process.returncode = status
            return status


def main(channel: "Any") -> "int":
    """Do it, and return the exit code."""
    settings = json.loads(sys.argv[1])
    with open(settings["distributions"]) as handle:
        before = set(handle.read().split("\n"))
    workdir, site, endings = settings["workdir"], settings["site"], tuple(settings["compiled"])
    projects = own(site, before, workdir)
    asked = json.loads(sys.stdin.buffer.read().decode())
    built = [(root, digests(root, endings)) for root in (workdir, site)]
    clear(workdir, set(asked["tracked"]))
    for path, mode, content in asked["changes"]:
        put(workdir, path, mode, content)
    if run(settings["script"], workdir):
        return 1
    compiled, modules = [packed(root, known, digests(root, endings)) for root, known in built]
    result = {"metadata": collect(site, projects), "compiled": compiled, "modules": modules}
    channel.end(json.dumps(result).encode())
    return 0
