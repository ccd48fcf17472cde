"""A repository with merged pull requests under refs/pull, and the comments on them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.cli.run_contexts import proving_context
from pytest_crab.curation.stages import CurationContext
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.steps import StepCache
from pytest_crab.settings import load_settings
from pytest_crab.store import FileStore
from pytest_crab.types import CandidateComment, Comment, GitSource, PullCandidate, PullRequestFacts

URL = "https://git.example/owner/shop"
LICENCE = (
    "Permission is hereby granted, free of charge, to any person.\n"
    "The above copyright notice and this permission notice shall be included.\n"
)
#: Two comments of people that count as substantive.
REMARKS = (
    "This should return an error instead of zero, because `price(None)` hides a bug in the caller.",
    "Please check the missing case here: an empty list should not break the total at all.",
)


@dataclass
class Shop:
    """A repository whose pull requests are made one after the other, and its comments as a forge exports them."""

    folder: Path
    comments: list[dict[str, Any]] = field(default_factory=list)
    date: str | None = None

    def git(self, *arguments: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        env |= {} if self.date is None else {"GIT_COMMITTER_DATE": self.date}
        argv = ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments]
        done = subprocess.run(argv, cwd=self.folder, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        for name, text in files.items():
            path = self.folder / name.replace("__", "/").replace("_py", ".py").replace("_md", ".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def pull(self, number: int, how: str, remarks: tuple[str, ...] = REMARKS, **files: str) -> str:
        """Make a pull request of two commits, the first of which is reviewed, and merge it; return the reviewed one."""
        self.git("checkout", "--quiet", "-b", f"topic-{number}")
        reviewed = self.commit(f"Change {number}", **files)
        answered = {name: text + "# answered\n" for name, text in files.items()}
        self.commit(f"Answer {number}", **answered)
        self.git("update-ref", f"refs/pull/{number}/head", "HEAD")
        self.git("checkout", "--quiet", "main")
        if how == "merge":
            message = f"Merge pull request #{number} from dev/topic\n\nFix number {number}"
            self.git("merge", "--quiet", "--no-ff", f"topic-{number}", "-m", message)
        elif how == "squash":
            self.git("merge", "--quiet", "--squash", f"topic-{number}")
            self.git("commit", "--quiet", "-m", f"Fix number {number} (#{number})")
        elif how == "rebase":
            self.commit(f"Before {number}", between=str(number))
            self.git("cherry-pick", f"main..topic-{number}")
        path = next(iter(files)).replace("__", "/").replace("_py", ".py").replace("_md", ".md") if files else "a.py"
        for at, body in enumerate(remarks):
            self.remark(number, path, reviewed, body, at)
        return reviewed

    def remark(self, number: int, path: str, sha: str, body: str, at: int | None = None) -> None:
        """Add a review comment on a commit."""
        at = len(self.comments) if at is None else at
        self.comments.append(
            {
                "id": 100 * number + at, "pull_request_url": f"{URL}/pulls/{number}", "path": path, "line": 1,
                "original_line": 1, "side": "RIGHT", "body": body, "user": {"login": f"person{at}"},
                "original_commit_id": sha, "html_url": f"{URL}/pull/{number}#discussion_r{at}",
            }
        )  # fmt: skip

    def long_pull(
        self, number: int, file: str, texts: list[str], message: str = "", *, updated: bool = False
    ) -> list[str]:
        """Make a pull request with a commit for each text of a file, squash it, and return its commits.

        ``updated``: the main line, which moved meanwhile, is merged into it before the last commit.
        """
        self.git("checkout", "--quiet", "-b", f"topic-{number}")
        made = []
        for at, text in enumerate(texts):
            if updated and at == len(texts) - 1:
                self.git("checkout", "--quiet", "main")
                self.commit("Other work", other_py=f"other = {number}\n")
                self.git("checkout", "--quiet", f"topic-{number}")
                self.git("merge", "--quiet", "--no-edit", "main")
            made.append(self.commit(f"Step {at} of {number}", **{file.replace(".py", "_py"): text}))
        self.git("update-ref", f"refs/pull/{number}/head", "HEAD")
        self.git("checkout", "--quiet", "main")
        self.git("merge", "--quiet", "--squash", f"topic-{number}")
        self.git("commit", "--quiet", "-m", message or f"Fix number {number} (#{number})")
        return made

    def write_comments(self) -> None:
        path = self.folder.parent / "comments.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in self.comments))


@pytest.fixture(scope="session")
def filled_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a shop with three merged in three ways, one open, one without comments, one of pages alone."""
    shop = Shop(tmp_path_factory.mktemp("shop") / "repo")
    shop.folder.mkdir()
    shop.git("init", "--quiet")
    shop.git("symbolic-ref", "HEAD", "refs/heads/main")
    shop.commit("Start", shop_py="one = 1\n", LICENSE=LICENCE)
    shop.pull(1, "merge", shop_py="one = 1\ntwo = 2\n")
    shop.pull(2, "squash", shop_py="one = 1\ntwo = 2\nthree = 3\n")
    shop.pull(3, "rebase", cart_py="cart = []\n")
    shop.pull(4, "open", shop_py="four = 4\n")
    shop.pull(5, "merge", remarks=(), till_py="till = 0\n")
    shop.pull(6, "squash", docs__page_md="A page\n")
    shop.write_comments()
    return shop.folder.parent


@pytest.fixture
def shop(filled_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A copy of the shop, as the folder ``repo`` of the current one, with its comments beside it."""
    shutil.copytree(filled_shop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crab.yaml").write_text("curate:\n  select: {rvs: 0.05}\n")  # such small ones are worth little
    rows = [json.loads(line) for line in (tmp_path / "comments.jsonl").read_text().splitlines()]
    return Shop(tmp_path / "repo", rows)


@pytest.fixture
def curate() -> Callable[..., Result]:
    """Run the command on the shop, with its comments."""

    def run(*options: str, source: str = "repo") -> Result:
        own = ["--comments", "comments.jsonl", "--url", URL] if source == "repo" else []
        return CliRunner().invoke(main, ["set", "curate", source, "--out", "set", *own, *options])

    return run


@pytest.fixture
def reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., PullCandidate]:
    """Make a pull request of a repository in the mirror from the files at base, head and merged, with one comment."""
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))

    def make(*states: dict[str, str], name: str = "shop") -> PullCandidate:
        shop = Shop(tmp_path / "mirror" / "owner" / name, date="2026-11-01T00:00:00Z")
        url = f"https://git.example/owner/{name}"
        shop.folder.mkdir(parents=True)
        shop.git("init", "--quiet")
        shas = [shop.commit("x", **state) for state in states]
        comment = Comment(id="c0", path="shop.py", lines=(2, 2), body="From ten on, I thought?")
        return PullCandidate(
            id=f"owner__{name}-7",
            origin="git",
            repo=f"owner/{name}",
            pull_request=PullRequestFacts(number=7, title="Prices", body="", url=f"{url}/pull/7"),
            license="MIT",
            source=GitSource(url=url, base=shas[0], head=shas[1], merged=shas[2]),
            diff=shop.git("diff", shas[0], shas[1]),
            comments=(CandidateComment(comment=comment),),
        )

    return make


@pytest.fixture
def proving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], CurationContext]]:
    """Return the context of stages that run code and ask a model at this address."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:

        def opened(url: str) -> CurationContext:
            provider = f"{{base_url: '{url}', api: openai}}"
            path = tmp_path / "crab.yaml"
            if not path.exists():
                path.write_text(f"models:\n  providers: {{local: {provider}}}\n  retries: 0\n")
            shared = stack.enter_context(
                proving_context(RuntimeSettings(runtime="local"), tmp_path / ".crab", load_settings(tmp_path))
            )
            store = FileStore(tmp_path / ".crab")

            def judge(name: str) -> JudgeBench:
                raise AssertionError(name)

            return CurationContext(
                cache=StepCache(store=store), folder=store.cache, judge=judge, proving=lambda: shared
            )

        yield opened
