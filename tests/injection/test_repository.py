"""What is read of a repository, and the trees that are made beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.errors import DiffRejected, SourceError
from pytest_crab.injection.repository import Change, _require_merge, open_repository

from .conftest import git


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two commits: a script that may be run, and a change of it whose message has the marks of lists."""
    folder = tmp_path / "small"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    for text, message in (("a = 1\n", "Start"), ("a = 2\n", "Say two\n\nOne \x1e and \x1f.")):
        (folder / "run.py").write_text(text)
        (folder / "run.py").chmod(0o755)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", message)
    return folder


def test_a_file_keeps_its_mode_and_none_takes_one_out(small: Path) -> None:
    with open_repository(small) as repository:
        head = repository.tree("HEAD")
        changed = repository.with_files(head, {"run.py": "a = 3\n", "new.py": "b = 1\n"})
        assert "mode" not in repository.diff(head, changed).replace("new file mode 100644", "")
        assert repository.paths(repository.with_files(changed, {"run.py": None})) == ["new.py"]
        assert repository.with_files(changed, {"run.py": "a = 2\n", "new.py": None}) == head


def test_a_merge_of_three_sides_is_made_or_refused(small: Path) -> None:
    with open_repository(small) as repository:
        one, other = (repository.with_files(repository.tree("HEAD"), {"run.py": f"a = {n}\n"}) for n in (3, 4))
        diff = repository.diff(repository.tree("HEAD"), one)
        assert repository.merge(diff, repository.tree("HEAD")) == one
        with pytest.raises(DiffRejected):
            repository.merge(diff, other)


def test_a_message_may_have_any_mark(small: Path) -> None:
    with open_repository(small) as repository:
        assert [change.texts for change in repository.line] == [("Say two", "One \x1e and \x1f.")]


def test_a_linked_work_tree_has_its_own_head(small: Path, tmp_path: Path) -> None:
    git(small, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    (tmp_path / "linked" / "run.py").write_text("a = 3\n")
    git(tmp_path / "linked", "commit", "--quiet", "-a", "-m", "Say three")
    with open_repository(tmp_path / "linked") as repository:
        line = repository.line
        assert [change.texts[0] for change in line] == ["Say three", "Say two"]
        assert [one.commit for one in repository.blame(line[0].commit, "run.py")] == [line[0].commit]


def test_a_repository_without_a_history_is_refused(small: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", small.as_uri(), "shallow")
    with pytest.raises(SourceError, match="unshallow"), open_repository(tmp_path / "shallow"):
        pass
    git(small, "checkout", "--quiet", "HEAD^")
    with open_repository(small) as repository, pytest.raises(SourceError, match="history"):
        list(repository.line)


@pytest.mark.parametrize(("version", "fine"), [("git version 2.31.1", False), ("git version 2.32.0", True)])
def test_a_git_that_cannot_merge_is_refused(version: str, fine: bool) -> None:  # noqa: FBT001
    if fine:
        _require_merge(version)
    else:
        with pytest.raises(SourceError, match=r"2\.32"):
            _require_merge(version)


def test_a_description_tells_nothing_of_its_review() -> None:
    message = "Fix till (#9)\n\nIt counts.\n\n* Apply review comment https://github.com/o/n/pull/9#discussion_r1\n"
    change = Change(commit="", parent="", tree="", seconds=0, day="", author="", message=message)
    assert change.texts == ("Fix till", "It counts.")


@pytest.mark.parametrize(
    ("message", "brought", "texts"),
    [
        ("Merge pull request #3 from a/b\n\nCount tills\n\nAll of them.", ["wip"], ("Count tills", "All of them.")),
        ("Merge pull request #3 from a/b", ["Count tills (#3)\n\nAll.", "Lint"], ("Count tills", "All.")),
        ("Merge commit from fork", ["Count tills"], ("Count tills", "")),
        ("Merge commit from fork\n\nTills are\ncounted now.\n\nAll.", [], ("Tills are counted now.", None)),
        ("Merge commit from fork\n\nCo-authored-by: A <a@b.c>", [], ("", "")),
        ("Merge branch 'counting'", ["Count tills\n\nAll."], ("Count tills", "All.")),
        ("Merge branch 'main' of https://git.example/o/n", ["Count tills", "Lint"], ("", "")),
    ],
)
def test_a_merge_is_called_after_what_it_brought(
    message: str, brought: list[str], texts: tuple[str, str | None]
) -> None:
    change = Change(
        commit="", parent="", tree="", seconds=0, day="", author="", message=message, brought=tuple(brought)
    )
    title, body = change.texts
    assert title == texts[0]
    assert body == texts[1] if texts[1] is not None else message.endswith(body)


def test_a_merge_has_the_messages_of_what_it_brought(small: Path) -> None:
    git(small, "checkout", "--quiet", "-b", "counting")
    (small / "run.py").write_text("a = 3\n")
    git(small, "commit", "--quiet", "-a", "-m", "Say three\n\nAt last.")
    git(small, "checkout", "--quiet", "main")
    git(small, "merge", "--quiet", "--no-ff", "-m", "Merge branch 'counting'", "counting")
    with open_repository(small) as repository:
        assert next(change.texts for change in repository.line) == ("Say three", "At last.")
