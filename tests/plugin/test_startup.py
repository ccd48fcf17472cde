"""What the plugin costs a run that names no reviewer: nothing heavy is imported."""

from __future__ import annotations

from typing import Any

import pytest

HEAVY = (
    *("anthropic", "click", "docker", "git", "httpx2", "hypothesis", "jinja2", "junitparser", "requests", "unidiff"),
    *("urllib3", "yaml", "pytest_crab.protocols", "pytest_crab.results", "pytest_crab.runtimes", "pytest_crab.trial"),
    *("pytest_crab.formats", "pytest_crab.gate", "pytest_crab.plugin.experiments", "pytest_crab.types"),
)


@pytest.mark.parametrize("reviewer", [0, 1])
def test_without_a_reviewer_nothing_heavy_is_imported(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, reviewer: int
) -> None:
    monkeypatch.delenv("PYTEST_PLUGINS")
    pytester.makepyfile(
        f"""
        import dataclasses, sys
        def test_modules():
            assert "pytest_crab.plugin.options" in sys.modules
            assert [name for name in {HEAVY!r} if name in sys.modules] == []
            ours = [module for name, module in sys.modules.items() if name.startswith("pytest_crab")]
            assert [value for each in ours for value in vars(each).values() if dataclasses.is_dataclass(value)] == []
        """
    )
    arguments = ["-p", "no:hypothesispytest", "-p", "no:xdist", *(["--reviewer=human"] if reviewer else [])]
    result = pytester.runpytest_subprocess(*arguments)
    result.assert_outcomes(failed=reviewer, passed=1 - reviewer)


def test_with_a_reviewer_no_engine_is_imported_to_collect(bare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.write({"test_modules.py": "import sys\ndef test_modules():\n    assert 'docker' not in sys.modules\n"})
    bare.spawn("--reviewer=human", "test_modules.py").assert_outcomes(passed=1)


def test_modules_of_this_package_are_imported_as_they_are(bare: Any) -> None:
    """Of a plugin's modules pytest rewrites the assertions: half of a start goes into 300 that have none to show."""
    bare.write({"conftest.py": REWRITTEN, "set/demo/instance.yaml": "schema: 1\nid: demo\n"})
    done = bare.spawn("--assert=rewrite", "--reviewer=human", "--collect-only", "set")
    (count,) = (int(line.split()[1]) for line in done.outlines if line.startswith("rewritten: "))
    assert 0 < count < 20


REWRITTEN = """
import sys
def pytest_unconfigure(config):
    kind = type(config.pluginmanager.rewrite_hook)
    ours = [module for name, module in sys.modules.items() if name.startswith("pytest_crab")]
    print("rewritten:", sum(isinstance(module.__loader__, kind) for module in ours), "of", len(ours))
"""


def test_no_git_is_imported_to_collect_instances(bare: Any) -> None:
    """A conftest.py that looks when all is collected, of an instance that a reviewer is named for."""
    bare.write({"conftest.py": LOOKING, "set/demo/instance.yaml": "schema: 1\nid: demo\n"})
    done = bare.spawn("--reviewer=human", "--collect-only", "set")
    assert "imported: []" in done.stdout.str()


LOOKING = """
import sys
def pytest_unconfigure():
    print("imported:", [name for name in ("git", "gitdb", "pytest_crab.sources.git_cli") if name in sys.modules])
"""


def test_what_asks_no_model_imports_no_library_of_a_protocol_or_of_a_junit_file(lab: Any) -> None:
    lab.write({"conftest.py": ASKING})
    done = lab.spawn("--reviewer=human", "instances/shop-1")
    assert "imported: []" in done.stdout.str()
    assert "caught" in done.stdout.str()


ASKING = """
import sys
def pytest_unconfigure():
    print("imported:", [name for name in ("anthropic", "pydantic", "httpx2", "lxml") if name in sys.modules])
"""
