"""Find symbolic links that lead out of a tree: through one, a tool would reach a file of the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_crab.protocols import Snapshot

#: More links than that on one way are none that a kernel follows.
_MOST = 40


def outward_links(snapshot: Snapshot) -> Iterator[str]:
    """Yield a sentence for each link of the instance's trees that leads out of them, each link once."""
    seen: set[tuple[str, str]] = set()
    for name, tree in (("base", snapshot.base), ("head", snapshot.head), ("the reference", snapshot.reference_tree)):
        links = snapshot.links(tree)
        for path, target in sorted(links.items()):
            if (path, target) not in seen and leads_out(path, links):
                seen.add((path, target))
                yield f"{name} has the link {path!r} to {target!r}, which leads out of the tree"


def leads_out(path: str, links: Mapping[str, str]) -> bool:
    """Return whether a path leads out of a tree with these links, followed as a kernel follows them."""
    todo = path.split("/")[::-1]
    here: list[str] = []
    for _ in range(_MOST):
        while todo:
            part = todo.pop()
            if part == ".." and not here:
                return True
            if part == "..":
                here.pop()
            elif part not in ("", "."):
                here.append(part)
                if "/".join(here) in links:
                    break
        else:
            return False
        target = links["/".join(here)]
        if target.startswith("/"):
            return True
        here.pop()
        todo.extend(target.split("/")[::-1])
    return False
