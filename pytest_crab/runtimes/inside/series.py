"""Send the commits of a repository's HEAD since a commit, each as its claims and its diff; git's own words go nowhere.

Arguments: the tree's folder, the commit, and the most bytes of all diffs. A message of the channel is a line of JSON,
the first line of the commit's message and the numbers of its `Finding:` trailers, and the diff. The last message is
empty, or says why there is no such series. The repository is a contestant's: git reads it here, within the sandbox, and
neither its settings nor its attributes make git run anything for these commands.
"""

# Few imports, for a fast start; annotations are quoted, since the oldest interpreters cannot evaluate them.
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

MOST_COMMITS = 200
#: What stands for a message, at most, and the most numbers of findings that one commit may name.
MOST_WORDS, MOST_FINDINGS = 200, 50
_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_ALLOW_PROTOCOL": "none",
}
#: The order of diffs may be a pipe without an end.
_SET = ("safe.directory=*", "core.fsmonitor=false", "core.hooksPath=/dev/null", "diff.orderFile=/dev/null")
_SETTINGS = (*(part for one in _SET for part in ("-c", one)), "--no-pager")
_DIFF = ("diff-tree", "-p", "-r", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv")
_SHAPE = ("--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all", "--no-commit-id")
_CLAIMS = "%P%x00%s%x00%(trailers:key=Finding,valueonly,unfold)"


class Refused(Exception):
    """A history that is no series of commits since head, and why."""


class Repository:
    """A contestant's repository, read by git with a bound on what comes out."""

    def __init__(self, folder: "str", most: "int") -> "None":
        self._folder = folder
        self._left = most

    def run(self, *arguments: "str") -> "bytes":
        """Return what a command of git prints. Raises Refused where it fails or prints too much."""
        argv = ["git", "-C", self._folder, *_SETTINGS, *arguments]
        try:
            process = subprocess.Popen(
                argv, env=_ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise Refused(f"git cannot be started there ({error.strerror})") from None
        assert process.stdout is not None
        with process.stdout as out:
            found = out.read(self._left + 1)
            if len(found) > self._left:
                process.kill()
        if process.wait() != 0 and len(found) <= self._left:
            raise Refused("git cannot read its history")
        self._left -= len(found)
        if self._left < 0:
            raise Refused("its history is too large to be read")
        return found


def commits(repository: "Repository", head: "str") -> "Iterator[tuple[str, list[int], bytes]]":
    """Yield message, findings and diff of each commit since ``head``, the first one first. Raises Refused."""
    limit = f"--max-count={MOST_COMMITS + 1}"
    listed = repository.run("rev-list", "--first-parent", limit, "HEAD", "^" + head).decode("ascii", "replace").split()
    if len(listed) > MOST_COMMITS:
        raise Refused(f"there are over {MOST_COMMITS} commits")
    before = head
    for commit in reversed(listed):
        claims = repository.run("show", "-s", "--no-show-signature", "--format=" + _CLAIMS, commit)
        parents, subject, trailers = claims.decode("utf-8", "replace").split("\0", 2)
        if parents.split()[:1] != [before]:
            raise Refused("its history does not go on from the head that it was given")
        numbers = [int(number) for number in re.findall(r"[0-9]{1,6}", trailers)[:MOST_FINDINGS]]
        yield subject[:MOST_WORDS], numbers, repository.run(*_DIFF, *_SHAPE, before, commit)
        before = commit


def main(channel: "Any") -> "int":
    """Send it all, and return the exit code."""
    folder, head, most = sys.argv[1:]
    try:
        for message, findings, diff in commits(Repository(folder, int(most)), head):
            channel.send(json.dumps([message, findings]).encode() + b"\n" + diff)
    except Refused as error:
        channel.end(str(error).encode("utf-8", "replace"))
    else:
        channel.end()
    return 0
