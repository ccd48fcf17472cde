"""Adapters by name: one family for each kind, specs that are plain JSON, and the reader that builds what they name."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_near

_CLASS_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class UnknownName(BadInput):
    """A name is that of no adapter: a person may have meant one that another crab.yaml gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterSpec:
    """The recipe of one adapter: plain JSON, so that a remote worker can build it too."""

    #: "module:Class".
    path: str
    #: Relative paths in these start at ``folder``.
    settings: Mapping[str, Any]
    #: The folder of crab.yaml.
    folder: str = "."


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One kind of adapter.

    A member is a frozen dataclass whose fields are its settings; a privileged one has ``bind`` instead of ``verb``, and
    so has one whose class attribute ``leaky`` is true: it gets the address of the public pull request.
    """

    #: The name of the kind.
    noun: str
    #: What an adapter of this kind does: the name of its method.
    verb: str
    #: The kind's own adapters, each as "module:Class", by name.
    members: Mapping[str, str]

    def spec(
        self,
        name: str,
        settings: Mapping[str, Any],
        folder: Path,
        where: str | None = None,
        entries: Container[str] = (),
        others: Iterable[str] = (),
    ) -> AdapterSpec:
        """The spec of a built-in member, or of a "module:Class". Raises UnknownName for any other name.

        ``entries`` are the names that crab.yaml gives, which the error can then explain: no entry uses another.
        ``others`` are names that would do here too.
        """
        path = self.members.get(name, name)
        if not _CLASS_PATH.fullmatch(path):
            names = sorted({*self.members, *others})
            known = ", ".join(names)
            what = (
                f"an entry of crab.yaml and no {self.noun} itself"
                if name in entries
                else f"no {self.noun}{format_near(name, names)}"
            )
            problem = f"{name!r} is {what}; use one of {known}, or your own class as module:Class"
            raise UnknownName(where or self.where(name), [problem])
        return AdapterSpec(path=path, settings=settings, folder=str(folder.absolute()))

    def build(self, spec: AdapterSpec, where: str | None = None) -> Any:
        """The adapter that a spec describes. Raises BadInput with every fault of its settings."""
        place = where or self.where(spec.path)
        cls = self._load(spec.path, place)
        settings = dict(spec.settings)
        if any(field.name == "folder" and field.init for field in dataclasses.fields(cls)):
            settings["folder"] = str(Path(spec.folder, str(settings.get("folder", "."))))
        problems: list[str] = []
        adapter = serialization.read(cls, settings, problems)
        if adapter is None:
            use = next((name for name, path in self.members.items() if path == spec.path), spec.path)
            raise BadInput(place, [_with_advice(problem, self.noun, use) for problem in problems])
        return adapter

    def make(
        self,
        name: str,
        settings: Mapping[str, Any],
        folder: Path,
        where: str | None = None,
        entries: Container[str] = (),
    ) -> Any:
        """The adapter that ``spec`` and ``build`` make of these. Raises BadInput with every fault."""
        place = where or self.where(name)
        return self.build(self.spec(name, settings, folder, place, entries), place)

    def setting(self, spec: AdapterSpec, name: str) -> Any:
        """The value of a setting that a spec has, else its default, without building; None: there is no such setting.

        Raises BadInput if the class cannot be had.
        """
        fields = {field.name: field for field in dataclasses.fields(self._load(spec.path, self.where(spec.path)))}
        default = fields[name].default if name in fields else None
        return spec.settings.get(name, None if default is dataclasses.MISSING else default)

    def where(self, name: str) -> str:
        """Return the name that errors use for these settings."""
        return f"crab.yaml: {self.noun}s.{name}"

    def _load(self, path: str, where: str) -> Any:
        module, _, name = path.partition(":")
        try:
            cls = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise BadInput(where, [f"{path} cannot be imported ({error}); is it installed here?"]) from error
        if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
            raise BadInput(
                where, [f"{path} is no dataclass; every {self.noun} is one, and its fields are its settings"]
            )
        if not hasattr(cls, self.verb) and not hasattr(cls, "bind"):
            raise BadInput(where, [f"{path} is no {self.noun}; it has neither {self.verb} nor bind"])
        return cls


def privileged(adapter: object) -> bool:
    """Return True if the adapter must be bound to an instance, and so sees the answer."""
    return callable(getattr(adapter, "bind", None)) and not leaky(adapter)


def leaky(adapter: object) -> bool:
    """Return True if the adapter says that it works on the public pull request, whose discussion it can read."""
    return bool(getattr(adapter, "leaky", False))


def _with_advice(problem: str, noun: str, use: str) -> str:
    """Return a fault of settings; of one that is missing with where it is written."""
    key = problem.removesuffix(" is missing")
    if key == problem:
        return problem
    return f"{problem}; give it in crab.yaml: {noun}s: {{NAME: {{use: {use}, {key}: ...}}}}"
