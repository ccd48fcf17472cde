"""Names of packages as a system's folders of packages have them."""

from __future__ import annotations

import re

#: Ends of the names of what is known of an installed distribution of Python.
METADATA = (".dist-info", ".egg-info")


def is_copy(name: str, project: str) -> bool:
    """Return whether a file or folder among installed packages is a project, or what is known of it, by its name."""
    of_distribution = name.endswith((*METADATA, ".egg"))
    own = name.partition("-")[0] if of_distribution else re.sub(r"\.(?:py|(?:[^.]*\.)?so)$", "", name)
    return normal_name(own) == normal_name(project)


def absent(module: str) -> tuple[str, str]:
    """Return the path and the text of a module in the place of a compiled one that cannot be imported."""
    where, slash, name = module.rpartition("/")
    name = name.partition(".")[0]
    return f"{where}{slash}{name}.py", f"raise ModuleNotFoundError({'No module named ' + name!r})\n"


def normal_name(name: str) -> str:
    """Return a project's or file's name in the one spelling that all of its spellings share (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
