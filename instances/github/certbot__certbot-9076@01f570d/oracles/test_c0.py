"""The script knows every name that it uses, and promotes the snaps of a version that it has found out."""

import ast
import builtins
import re
import symtable
import sys
import types
from pathlib import Path

import pytest

PATH = Path("tools/finish_release.py")
SOURCE = PATH.read_text()
MODULE = {"__doc__", "__file__", "__name__"}


def tables(table):
    yield table
    for child in table.get_children():
        yield from tables(child)


def test_every_name_is_defined():
    top = symtable.symtable(SOURCE, str(PATH), "exec")
    defined = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    defined |= {symbol.get_name() for symbol in top.get_symbols() if symbol.is_namespace()}
    for table in tables(top):
        for symbol in table.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                defined.add(symbol.get_name())
    known = defined | set(vars(builtins)) | MODULE
    unknown = {
        symbol.get_name()
        for table in tables(top)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and symbol.is_global() and symbol.get_name() not in known
    }
    assert unknown == set()


@pytest.mark.parametrize("name", ["promote_snaps", "publish_windows", "get_snap_revisions"])
def test_the_steps_are_still_there(name):
    assert name in {node.name for node in ast.parse(SOURCE).body if isinstance(node, ast.FunctionDef)}


class Builds:
    """What Azure Pipelines has of a project: the newest build of a definition comes first."""

    def __init__(self, **options):
        self.clients, self.known = self, "certbot" in str(options.get("base_url", ""))

    def get_build_client(self):
        return self

    def get_builds(self, project=None, definitions=None, **options):
        wanted = self.known and project == "certbot" and str(definitions).strip("[]'") == "3"
        names = ["1.99.0", "1.98.0"] if wanted else ["0.2.0", "0.1.0"]
        self.found = [
            types.SimpleNamespace(id=number, source_branch=f"refs/tags/v{name}")
            for number, name in enumerate(names, start=70)
        ]
        return types.SimpleNamespace(value=self.found)

    def get_build(self, project, id, **options):
        assert project == "certbot"
        return next(build for build in self.found if build.id == id)


@pytest.fixture
def script(monkeypatch):
    """The script as a module, with its neighbours played: nothing of it asks the network."""
    # On GitHub the new release is a draft that only its authors see, until the last step of this script.
    published = {"tag_name": "v1.98.0", "name": "v1.98.0"}

    def get(url, *args, **options):
        if "dev.azure.com" in url:
            wanted = "certbot/certbot" in url and "3" in f"{url} {options.get('params', '')}"
            names = ["refs/tags/v1.99.0", "refs/tags/v1.98.0"] if wanted else ["refs/tags/v0.2.0"]
            builds = [{"id": number, "sourceBranch": name} for number, name in enumerate(names, start=70)]
            found = {"value": builds, "count": len(builds), **builds[0]}
        elif "pypi.org" in url:
            found = {"info": {"version": "1.99.0"}}
        elif "/tags" in url:
            found = [{"name": "v1.99.0"}, published]
        else:
            found = published if "latest" in url else [published]
        return types.SimpleNamespace(json=lambda: found, raise_for_status=lambda: None, status_code=200)

    for name in ("azure", "azure.devops", "azure.devops.connection", "requests"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["azure.devops.connection"].Connection = Builds
    sys.modules["requests"].get = get
    module = types.ModuleType("finish_release")
    module.__file__ = str(PATH.resolve())
    exec(compile(SOURCE, str(PATH), "exec"), vars(module))
    return module


def promoted(script, capsys, monkeypatch, *options):
    """The versions whose snaps are looked for, and whether the host publishes; options that are required are given."""
    found, published = [], []

    def revisions(snap, version):
        found.append(version)
        return []

    monkeypatch.setattr("builtins.input", lambda *prompt: "1.99.0")
    script.assert_logged_into_snapcraft = lambda: None
    script.get_snap_revisions = revisions
    script.publish_windows = lambda *args, **named: published.append("host" in [*args, *named.values()])
    arguments = ["--css", "host", *options]
    try:
        script.main(arguments)
    except SystemExit:
        needed = re.findall(r"--[a-z-]+", capsys.readouterr().err.partition("required:")[2])
        script.main([*arguments, *[part for name in needed for part in (name, "1.99.0")]])
    return found, published


def test_without_snaps_nothing_is_promoted(script, capsys, monkeypatch):
    assert promoted(script, capsys, monkeypatch, "--windows-only") == ([], [True])


@pytest.mark.parametrize("options", [[], ["--snaps-only"]], ids=["everything", "snaps"])
def test_it_is_the_version_that_was_released(script, capsys, monkeypatch, options):
    found, published = promoted(script, capsys, monkeypatch, *options)
    assert published == ([] if options else [True])
    assert len(found) >= len(script.SNAPS) > 1
    (version,) = set(found)
    assert version not in SOURCE, "the version is written down"
    assert isinstance(version, str)
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?", version)
    here = re.search(r"__version__ = '([\d.]+\d)", Path("certbot/certbot/__init__.py").read_text()).group(1)
    assert version != here, "the version of the checkout is the next one"
    assert version != "1.98.0", "the latest release that is published is the one before"
    if hasattr(script, "Connection") or "azure" in SOURCE.partition("import argparse")[2]:
        assert version == "1.99.0"
