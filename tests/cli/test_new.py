"""The new command: what it fills in, what it leaves open, what it refuses."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.instances import load_instance


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def project(name: str, text: str, **files: str) -> None:
    for file, content in {"src/shop.py": text, **files}.items():
        path = Path(name, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def clone(**others: str) -> tuple[str, str]:
    """A repository with a reviewed commit and one that resolved the comment, and no merge; ``others`` never change."""
    env = {"PATH": os.environ["PATH"], "HOME": str(Path.cwd())}
    who = ["-c", "user.name=d", "-c", "user.email=d@example.org"]

    def git(*arguments: str) -> str:
        argv = ["git", *who, *arguments]
        return subprocess.run(argv, cwd="clone", env=env, check=True, capture_output=True, text=True).stdout.strip()

    shas = []
    for number, text in enumerate(("let one = 1;\n", "let one = 1;\nlet two = 3;\n", "let one = 1;\nlet two = 2;\n")):
        Path("clone").mkdir(exist_ok=True)
        if number == 0:
            git("init", "--quiet", "--initial-branch=main")
        if number == 1:
            git("checkout", "--quiet", "-b", "two")
        for name, content in {"shop.js": text, **others}.items():
            Path("clone", name).write_text(content)
        Path("clone/package.json").write_text('{"name": "shop", "license": "ISC"}\n')
        git("add", ".")
        git("commit", "--quiet", "-m", f"Step {number}")
        shas.append(git("rev-parse", "HEAD"))
    git("remote", "add", "origin", "git@git.invalid:owner/shop.git")
    git("checkout", "--quiet", "main")
    return shas[1], shas[2]


def test_a_clone_gives_facts_anchors_and_an_oracle_to_be_written() -> None:
    head, merged = clone()
    result = run("set", "new", "clone", "--head", head, "--merged", merged, "--into", "set", "--comment", "shop.js:2")
    assert result.exit_code == 0, result.output
    folder = Path("set", f"owner__shop-1@{head[:7]}")
    instance = load_instance(folder)
    assert instance.source.git is not None
    assert (instance.source.git.url, instance.source.git.head) == ("https://git.invalid/owner/shop", head)
    assert (instance.repo, instance.license, instance.language) == ("owner/shop", "ISC", "javascript")
    assert instance.pull_request.title == "Step 1"
    assert [(one.path, one.lines, one.required_oracle.runner) for one in instance.comments] == [
        ("shop.js", (2, 2), "node")
    ]
    text = (folder / "instance.yaml").read_text()
    assert "#   shop.js:2  let two = 3;\n" in text
    assert f"#   {head[:12]} Step 1\n" in text
    told = run("set", "check", str(folder)).output
    assert "comments[0].body is still (to be written)" in told
    assert "comments[0].oracle.file (oracles/test_c0.test.mjs) is still to be written" in told
    again = run("set", "new", "clone", "--head", head, "--merged", merged, "--into", "set")
    assert again.exit_code == 1
    assert "is there already, and new overwrites nothing" in again.output
    assert (folder / "instance.yaml").read_text() == text


def test_a_clone_with_a_number_is_a_repository_and_no_folder_to_copy() -> None:
    _, merged = clone()
    subprocess.run(["git", "-C", "clone", "update-ref", "refs/pull/7/head", merged], check=True)
    result = run("set", "new", "clone", "--number", "7", "--merged", merged, "--into", "set")
    assert result.exit_code == 1
    assert "name the commit that was commented on with --head" in result.output
    assert not Path("set").exists()


@pytest.mark.parametrize(
    ("file", "build"),
    [
        ("CMakeLists.txt", ("cmake -S . -B build", "cmake --build build")),
        ("Makefile", ("make",)),
        ("meson.build", None),
    ],
)
def test_what_builds_a_project_in_c_is_written_where_its_files_tell(file: str, build: tuple[str, ...] | None) -> None:
    project("shop", "ONE = 1\n", **{file: "\n", "sum.c": "int one;\n"})
    assert run("set", "new", "shop", "--into", "set", "--comment", "sum.c:1").exit_code == 0
    told = yaml.safe_load(Path("set/shop/instance.yaml").read_text())
    assert (told["language"], told["environment"].get("build")) == ("c", build and list(build))


@pytest.mark.parametrize("lost", ["README.md", "logo.svg"])
def test_what_a_mirror_lacks_and_the_trees_leave_out_is_told(lost: str) -> None:
    head, merged = clone(**{lost: "of the first day\n"})
    blob = subprocess.check_output(["git", "-C", "clone", "rev-parse", f"{head}:{lost}"], text=True).strip()
    Path("clone/.git/objects", blob[:2], blob[2:]).unlink()
    result = run("set", "new", "clone", "--head", head, "--merged", merged, "--into", "set")
    assert result.exit_code == 0, result.output
    assert f"note: the mirror lacks the content of {lost}" in result.output


def test_a_release_is_found_and_its_digest_written(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("links").mkdir()
    info = b"Name: shop\nLicense-Expression: MIT\nRequires-Dist: attrs\nProject-URL: x, https://github.com/owner/shop\n"
    with tarfile.open("links/shop-1.0.tar.gz", "w:gz") as tar:
        for name, content in (("shop.py", b"ONE = 1\n"), ("PKG-INFO", info)):
            member = tarfile.TarInfo(f"shop-1.0/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    monkeypatch.setenv("PIP_FIND_LINKS", str(Path("links").absolute()))
    Path("my.diff").write_text("--- a/shop.py\n+++ b/shop.py\n@@ -1 +1,2 @@\n ONE = 1\n+TWO = 3\n")
    result = run("set", "new", "shop==1.0", "--into", "set", "--head", "my.diff", "--title", "Two")
    assert result.exit_code == 0, result.output
    instance = load_instance(Path("set/shop-1.0"))
    assert instance.source.sdist is not None
    assert instance.source.sdist.sha256 == hashlib.sha256(Path("links/shop-1.0.tar.gz").read_bytes()).hexdigest()
    assert (instance.repo, instance.license, instance.comments[0].lines) == ("owner/shop", "MIT", (2, 2))
    assert "#   attrs\n" in Path("set/shop-1.0/instance.yaml").read_text().replace("# attrs", "#   attrs")
    assert "source.sdist.reference (reference.diff) is empty" in run("set", "check", "set").output


def test_a_folder_becomes_the_tree_and_changed_copies_its_diffs() -> None:
    project("shop", "ONE = 1\n", LICENSE="This is free and unencumbered software released into the public domain.\n")
    project(
        "head",
        "ONE = 1\nTWO = 3\n",
        LICENSE="This is free and unencumbered software released into the public domain.\n",
    )
    Path("fix.diff").write_text("--- a/src/shop.py\n+++ b/src/shop.py\n@@ -1,2 +1,2 @@\n ONE = 1\n-TWO = 3\n+TWO = 2\n")
    arguments = ["--head", "head", "--reference", "fix.diff", "--comment", "src/shop.py:2", "--comment", "LICENSE"]
    assert run("set", "new", "shop", "--into", "set", *arguments, "--number", "4").exit_code == 0
    instance = load_instance(Path("set/shop"))
    assert (instance.license, instance.pull_request.number) == ("Unlicense", 4)
    assert instance.environment.paths == (".", "src")
    assert [one.lines for one in instance.comments] == [(2, 2), None]
    assert Path("set/shop/tree/src/shop.py").read_text() == "ONE = 1\n"
    told = run("set", "check", "set").output
    assert told.endswith("0 of 1 instance ok, 6 faults\n"), told
    project("set/projects/shop", "ONE = 1\n")
    assert (
        run("set", "new", "set/projects/shop", "--into", "set", "--id", "shared", "--head", "fix.diff").exit_code == 1
    )
    assert run("set", "new", "set/projects/shop", "--into", "set", "--id", "shared").exit_code == 0
    shared = load_instance(Path("set/shared"))
    assert shared.source.tree is not None
    assert shared.source.tree.path == "../projects/shop"


@pytest.mark.parametrize("url", ["../clone", "https://git.invalid/shop", "https://me:key@git.invalid/owner/shop"])
def test_an_address_that_an_instance_could_not_name_is_refused_before_one_is_written(url: str) -> None:
    head, merged = clone()
    result = run("set", "new", "clone", "--url", url, "--head", head, "--merged", merged, "--into", "set")
    assert result.exit_code == 2
    assert f"--url is {url}; it should be an address such as https://" in result.output
    assert not Path("set").exists()


@pytest.mark.parametrize(
    ("arguments", "telling"),
    [
        (["nothing"], "nothing is no pull request's address, no repository, no NAME==VERSION and no folder"),
        (["shop", "--comment", "src/shop.py:9"], "src/shop.py:9 points behind the end: the file has 1 lines at head"),
        (["shop", "--comment", "../x:1"], "'../x:1' is no place; it should be path:line"),
        (["shop", "--comment", "src/shop.py:3-1"], "has no such lines"),
        (["shop", "--comment", "no.py"], "no.py is no file at head"),
        (["shop", "--head", "abc"], "--head is abc, which is neither a diff's file nor a folder here"),
        (["shop", "--merged", "abc"], "--merged is for repositories"),
        (["shop", "--id", "a b"], "'a b' is no id"),
        (["owner/name", "--reference", "shop"], "--reference is for releases and folders"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(arguments: list[str], telling: str) -> None:
    project("shop", "ONE = 1\n")
    result = run("set", "new", *arguments, "--into", "set")
    assert result.exit_code in (1, 2)
    assert telling in result.output.splitlines()[-1]
    assert not Path("set").exists()
