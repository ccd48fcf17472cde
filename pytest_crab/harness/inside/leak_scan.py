"""Facts for the leak proof, read from inside a workspace: refs, objects, caches, installed copies, stray oracles."""

import contextlib
import itertools
import os
import re
import shutil
import subprocess

ROOTS = ("/workspace", "/tmp", "/home", "/opt", "/meet")  # noqa: S108 - only looked at
MANY = 200


def look(job):
    """Return what the workspace holds besides the tree; every list is cut at a length that no honest one reaches."""
    asked = job["leaks"]
    roots = ROOTS if job["contained"] else ()  # without a sandbox these are the machine's own
    return {
        "git": git(os.path.join(job["workdir"], ".git")),
        "caches": caches(job["scratch"], asked["caches"]),
        "installed": find_installed(job["site"], asked["project"]),
        "files": files(set(asked["files"]), (job["tree"], job["workdir"], job["scratch"], *roots)),
    }


def lines(path, most=None):
    """Return the lines of a file, or so many of them, none where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in itertools.islice(file, most)]
    except OSError:
        return []


def below(folder):
    """Return the files below a folder, relative to it."""
    found = []
    for where, _, names in os.walk(folder):
        found.extend(os.path.relpath(os.path.join(where, name), folder) for name in names)
    return sorted(found)


def git(folder):
    """Return refs, remotes, reflog entries and commits of a repository; None where there is no repository."""
    if not os.path.isdir(folder):
        return None
    packed = [line.split()[1] for line in lines(os.path.join(folder, "packed-refs")) if re.match("[0-9a-f]{40} ", line)]
    config = lines(os.path.join(folder, "config"))
    extra = [name for name in ("FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "shallow") if lines(os.path.join(folder, name))]
    alternates = lines(os.path.join(folder, "objects", "info", "alternates"))
    logs = os.path.join(folder, "logs")
    return {
        "refs": sorted(set(packed) | {"refs/" + name for name in below(os.path.join(folder, "refs"))})[:MANY],
        "remotes": [line.strip()[:MANY] for line in config if re.match(r"\s*\[remote|\s*url\s*=", line)][:MANY],
        "extra": extra + alternates[:MANY],
        "logged": sum(len(lines(os.path.join(logs, name))) for name in below(logs)),
        "commits": commits(folder),
    }


def commits(folder):
    """Return the number of commit objects, reachable or not; None where git is not there to ask."""
    if shutil.which("git") is None:
        return None
    argv = ["git", "--git-dir", folder, "-c", "safe.directory=*", "cat-file", "--batch-all-objects"]
    argv += ["--batch-check=%(objecttype)"]
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    null = subprocess.DEVNULL
    asked = subprocess.run(argv, stdin=null, stdout=subprocess.PIPE, stderr=null, env=env, check=False)
    return asked.stdout.split().count(b"commit") if asked.returncode == 0 else None


def caches(scratch, places):
    """Return the package caches that hold anything, which are at these places below a home."""
    homes = {scratch, os.path.expanduser("~"), "/root", "/"}
    homes.update(os.path.join("/home", name) for name in (os.listdir("/home") if os.path.isdir("/home") else []))
    folders = (os.path.join(home, place) for home in sorted(homes) for place in places)
    return [folder for folder in folders if os.path.isdir(folder) and below(folder)]


def normal(name):
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def find_installed(site, project):
    """Return [name, version, where] of every installed distribution that is the project."""
    found = []
    for folder in site:
        for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if not entry.endswith((".dist-info", ".egg-info")):
                continue
            known = (os.path.join(folder, entry, name) for name in ("METADATA", "PKG-INFO"))
            told = next(filter(None, (lines(file, 40) for file in known)), [])
            fields = dict(line.split(": ", 1) for line in told if ": " in line)
            name = fields.get("Name") or entry.rpartition(".")[0].partition("-")[0]
            if project and normal(name) == normal(project):
                found.append([name, fields.get("Version", ""), os.path.join(folder, entry)])
    return found[:MANY]


def files(names, roots):
    """Return the files with one of these names below the roots, each folder looked at once."""
    found, left, seen = set(), list(roots), set()
    while left:
        folder = left.pop()
        if folder in seen:
            continue
        seen.add(folder)
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
                elif entry.name in names and not os.path.isdir(entry.path):
                    found.add(entry.path)
    return sorted(found)[:MANY]
