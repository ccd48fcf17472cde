"""Check an instance against its trees: its diffs apply, and its comments point at lines that exist."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from pytest_crab import diffs
from pytest_crab.errors import DiffRejected
from pytest_crab.instances.files import diff_text
from pytest_crab.protocols import Snapshot
from pytest_crab.sources.links import outward_links
from pytest_crab.types import Comment, Instance, Side

#: Up to so many references every choice of them is tried, since an agent may act on any of the comments.
_MOST_CHOICES = 6


def faults(instance: Instance, snapshot: Snapshot) -> Iterator[str]:
    """Yield a sentence for each diff that does not apply, comment on lines that are not there, and outward link.

    A link of a project that was not written for its set is as it is there, and a warning.
    """
    if snapshot.reference_tree == snapshot.head_tree and not instance.clean:
        yield "the reference leaves head as it is; it should resolve the comments"
    for number, comment in enumerate(instance.comments):
        at = f"comments[{number}]"
        yield from _line_faults(at, comment, snapshot)
        yield from _diff_faults(f"{at}.reference", [comment.reference] if comment.reference else [], instance, snapshot)
        yield from _diff_faults(f"{at}.accepts", comment.accepts, instance, snapshot)
        yield from _diff_faults(f"{at}.rejects", comment.rejects, instance, snapshot)
    yield from _diff_faults("company", instance.company, instance, snapshot)
    yield from _together(instance, snapshot)
    if instance.source.repository is None:
        yield from (f"{sentence}; it should not" for sentence in outward_links(snapshot))


def warnings(instance: Instance, snapshot: Snapshot) -> Iterator[str]:
    """Yield a sentence for each comment on lines outside the pull request's diff, and outward link of a project."""
    if instance.source.repository is not None:
        yield from (f"{sentence}: nothing follows it here" for sentence in outward_links(snapshot))
    diff = snapshot.pull_request_diff()
    for number, comment in enumerate(instance.comments):
        shown = diffs.shown_lines(diff, comment.side).get(comment.path)
        if shown is None:
            yield f"comments[{number}].path ({comment.path}) is not in the pull request's diff"
        elif comment.lines and not shown.issuperset(range(comment.lines[0], comment.lines[1] + 1)):
            yield f"comments[{number}].lines {list(comment.lines)} are not all in the pull request's diff"


def _line_faults(at: str, comment: Comment, snapshot: Snapshot) -> Iterator[str]:
    commit = snapshot.base if comment.side is Side.LEFT else snapshot.head
    which = "base" if comment.side is Side.LEFT else "head"
    content = snapshot.read(commit, comment.path)
    if content is None:
        yield f"{at}.path is {comment.path!r}, which is no file at {which}; it should be one that the reviewer saw"
        return
    length = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    if comment.lines and comment.lines[1] > length:
        yield f"{at}.lines are {list(comment.lines)}, and {comment.path} has {length} lines at {which}"


def _diff_faults(key: str, names: Sequence[str], instance: Instance, snapshot: Snapshot) -> Iterator[str]:
    for name in names:
        try:
            tree = snapshot.apply(diff_text(instance, name))
        except DiffRejected as error:
            yield f"{key}: {name} does not apply to head ({error}); it should be made again from head"
            continue
        if tree == snapshot.head_tree:
            yield f"{key}: {name} leaves head as it is; it should change something"


def _together(instance: Instance, snapshot: Snapshot) -> Iterator[str]:
    """Yield a sentence for references that do not apply after each other, or differ by their order."""
    trees: dict[tuple[str, ...], str | None] = {}
    names = dict.fromkeys(comment.reference for comment in instance.comments if comment.reference)
    for choice in _choices(list(names)):
        before = trees[choice[:-1]] if len(choice) > 1 else snapshot.head_tree
        if before is None:
            trees[choice] = None
            continue
        try:
            trees[choice] = snapshot.apply(diff_text(instance, choice[-1]), before)
        except DiffRejected as error:
            trees[choice] = None
            if len(choice) > 1:
                earlier = ", ".join(choice[:-1])
                yield (
                    f"{choice[-1]} does not apply after {earlier} ({error}); references should go together: where they "
                    "change other lines, make both with fewer lines around (git diff -U1)"
                )
    ends = {trees[choice] for choice in trees if len(choice) == max(map(len, trees))}
    if len(ends - {None}) > 1:
        yield "the references make different trees in different orders; they should go together"


def _choices(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the choices of references to try, in the comments' order and in reverse, each after its prefixes.

    With more than _MOST_CHOICES references: single ones, pairs and the prefixes of all of them.
    """
    sizes = range(1, len(names) + 1) if len(names) <= _MOST_CHOICES else (1, 2)
    orders = (tuple(names), tuple(reversed(names)))
    choices = [choice for size in sizes for order in orders for choice in itertools.combinations(order, size)]
    choices += [order[:size] for size in range(1, len(names) + 1) for order in orders]
    return iter(dict.fromkeys(choices))
