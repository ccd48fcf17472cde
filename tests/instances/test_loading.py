"""Finding and reading instances."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances import find_instances, load_instance, load_instances
from pytest_crab.types import Instance, Isolation, Side

Write = Callable[..., Path]


def faults(path: Path) -> tuple[str, ...]:
    with pytest.raises(BadInput) as caught:
        load_instance(path)
    assert caught.value.where == str(path)
    return caught.value.problems


def test_an_instance_is_typed_and_complete(write_instance: Write) -> None:
    path = write_instance()
    instance = load_instance(path)
    assert instance.id == "shop-7"
    assert instance.folder == str(path.parent)
    assert instance.source.tree is not None
    assert instance.source.tree.path == "../projects/shop"
    assert instance.environment.timeout == 120
    (comment,) = instance.comments
    assert comment.lines == (1, 2)
    assert comment.side is Side.RIGHT
    assert comment.oracle.file == "oracles/test_c0.py"


def test_the_folder_stands_for_its_file(write_instance: Write) -> None:
    path = write_instance()
    assert load_instance(path.parent) == load_instance(path)


PARTS = (
    "oracle: {file: oracles/test_c0.py, parts: [{asks: Say one., tests: [test_a]}, {asks: Say two., tests: [test_b]}]}"
)


def test_an_oracle_may_have_parts(write_instance: Write) -> None:
    (comment,) = load_instance(write_instance("a", ("oracle: oracles/test_c0.py", PARTS))).comments
    assert [(part.asks, part.tests) for part in comment.oracle.parts] == [
        ("Say one.", ("test_a",)),
        ("Say two.", ("test_b",)),
    ]


def test_an_oracle_may_be_spelled_out(write_instance: Write) -> None:
    spelled = "oracle: {file: oracles/test_c0.py, isolation: process, plugins: [pytest_asyncio.plugin]}"
    (comment,) = load_instance(write_instance("a", ("oracle: oracles/test_c0.py", spelled))).comments
    assert comment.oracle.isolation is Isolation.PROCESS
    assert comment.oracle.plugins == ("pytest_asyncio.plugin",)


def test_an_instance_survives_plain_json(write_instance: Write) -> None:
    instance = load_instance(write_instance())
    problems: list[str] = []
    assert serialization.read(Instance, serialization.dump(instance), problems) == instance
    assert not problems


def test_all_faults_of_a_file_come_at_once(write_instance: Write) -> None:
    path = write_instance(
        "shop-8",
        ("id: shop-8", "id: other"),
        ("pytest==8.3.4", "pytest"),
        ("kind: behavioral", "kind: vibes"),
        ("license: MIT\n", ""),
        ("head: head.diff", "head: ../head.diff"),
        ("number: 7", "number: seven"),
    )
    found = "\n".join(faults(path))
    for telling in (
        "id is 'other'; it should be the folder's name, 'shop-8'",
        "environment.packages[0] is 'pytest'; it should be pinned, as name==version",
        "comments[0].kind is 'vibes'; it should be one of behavioral, structural",
        "license is missing",
        "source.tree.head is '../head.diff'; it should be relative to the instance's folder",
        "pull_request.number is 'seven'; it should be a whole number",
    ):
        assert telling in found


@pytest.mark.parametrize(
    ("old", "new", "telling"),
    [
        ("pytest==8.3.4", "'pytest @ https://example.org/x.whl'", "should be pinned"),
        ("pytest==8.3.4", "pytest==8.*", "should be pinned"),
        ("pytest==8.3.4", "-r requirements.txt", "should be pinned"),
        ("pytest==8.3.4", "--pre==1", "should be pinned"),
        ('python: "3.11"', "python: 2.7", "environment.python is '2.7'"),
        ("dockerfile: python", "dockerfile: ../python", "out of dockerfiles/"),
        ("dockerfile: python", "image: python:3.11", "should be pinned, as name@sha256:"),
        ("dockerfile: python", "dockerfile: python\n  workdir: work", "an absolute path"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /", "an absolute path"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /proc/self", "which is the system's"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /usr", "which is the system's"),
        ("dockerfile: python", "dockerfile: python\n  paths: [../up]", "environment.paths[0]"),
        ("dockerfile: python", "dockerfile: python\n  system: [--force]", "a Debian package's name"),
        ("dockerfile: python", "dockerfile: python\n  env: {A-B: c}", "environment.env.A-B is not a variable's name"),
        ("dockerfile: python", "dockerfile: python\n  env: {PYTHONPATH: x}", "belongs to the harness"),
        ("dockerfile: python", "dockerfile: python\n  env: {PATH: x}", "belongs to the harness"),
        ("dockerfile: python", "dockerfile: python\n  env: {HOME: x}", "belongs to the harness"),
        ("dockerfile: python", "dockerfile: python\n  env: {GIT_DIR: x}", "belongs to the harness"),
        ("dockerfile: python", "dockerfile: python\n  env: {LD_PRELOAD: x}", "belongs to the harness"),
        ("dockerfile: python", "dockerfile: python\n  env: {BASH_ENV: x}", "belongs to the harness"),
        ("dockerfile: python", 'dockerfile: python\n  env: {A: "x\\ny"}', "should be one line"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /usr/lib/python3", "the system's"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /meet", "the harness's"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /meet/x", "the harness's"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /tmp", "the harness's"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /opt/crab/tree", "the harness's"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /opt", "the harness's"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /home", "the harness's"),
        ("dockerfile: python", "dockerfile: python\n  workdir: /home/client", "the harness's"),
        ("dockerfile: python", 'dockerfile: python\n  workdir: "/work\\nspace"', "an absolute path"),
        ("dockerfile: python", "dockerfile: python\n  env: {PYTEST_ADDOPTS: -x}", "belongs to the harness"),
        ("dockerfile: python", "dockerfile: python\n  timeout: 90000", "at most 3600 seconds"),
        ("dockerfile: python", "dockerfile: python\n  timeout: 0", "seconds above 0"),
        ("dockerfile: python", "dockerfile: python\n  timeout: 1_0", "a whole number"),
        ("dockerfile: python", "dockerfile: python\n  install: ['']", "environment.install[0]"),
        ("dockerfile: python", "dockerfile: python\n  build: [make, '']", "environment.build[1]"),
        ("../projects/shop", "/projects/shop", "should be a folder of the instance, as tree, or of its set"),
        ("../projects/shop", "../../set/projects/shop", "should be a folder of the instance, as tree, or of its set"),
        ("../projects/shop", "a/../../projects/shop", "should be a folder of the instance, as tree, or of its set"),
        ("../projects/shop", "..", "should be a folder of the instance, as tree, or of its set"),
        ("../projects/shop", "../", "should be a folder of the instance, as tree, or of its set"),
        ("../projects/shop", ".", "should be a folder of the instance, as tree, or of its set"),
        ("../projects/shop", "../projects/none", "which is not there"),
        ("../projects/shop", "tree", "which is not there"),
        ("../projects/shop", "../projects/shop/shop.py", "which is not a folder"),
        ("oracles/test_c0.py", "oracles/c0.py", "its name should be test_"),
        (
            "oracle: oracles/test_c0.py",
            "oracle: {file: oracles/test_c0.py, parts: [{asks: One., tests: [test_a]}]}",
            "comments[0].oracle.parts has 1 entries; it should have 2 or more",
        ),
        ("oracle: oracles/test_c0.py", PARTS.replace("Say two.", "''"), "oracle.parts[1].asks is ''"),
        ("oracle: oracles/test_c0.py", PARTS.replace("[test_b]", "[]"), "oracle.parts[1].tests is []"),
        ("head: head.diff", "head: oracles", "is not a regular file"),
        ("oracles/test_c0.py", "oracles/test_c1.py", "which is not there"),
        ("path: shop.py", "path: /etc/passwd", "comments[0].path"),
        ("path: shop.py", "path: a/../../b", "comments[0].path"),
        ("lines: [1, 2]", "lines: [2, 1]", "counted from 1"),
        ("lines: [1, 2]", "lines: [1]", "has 1 entries; it should have 2"),
        ("body: This should say two.", "body: ''", "comments[0].body is empty"),
        ("repo: owner/shop", "repo: shop", "should be owner/name"),
        ("title: Add a cart", "title: ''", "pull_request.title is empty"),
        ("title: Add a cart", "title: x, merged_at: yesterday", "a day such as"),
        ("title: Add a cart", "title: x, base_branch: '../x'", "a branch's name"),
        ("title: Add a cart", "title: x, base_branch: a/HEAD", "a branch's name"),
        ("title: Add a cart", "title: x, url: 'ftp://x/y'", "should start with https://"),
        ("schema: 1", "schema: 2", "this version reads 1"),
        ("schema: 1", "schema: 1\nfolder: /tmp", "folder is not a known key"),
        ("schema: 1", "schema: 1\ncolour: red", "colour is not a known key"),
        ("license: MIT", "license: MIT\nlicense: MIT", "stands twice"),
    ],
)
def test_one_fault_is_one_sentence_that_says_what_would_be_right(
    write_instance: Write, old: str, new: str, telling: str
) -> None:
    (problem,) = faults(write_instance("shop-9", (old, new)))
    assert telling in problem


@pytest.mark.parametrize(
    "pin", ["a==1", "a-b.c==1.0.post1+local.2", "'a[x,y]==1'", "'a==1; python_version < \"3.11\"'", "a==1!2.0rc1"]
)
def test_pins_as_people_write_them_are_taken(write_instance: Write, pin: str) -> None:
    assert load_instance(write_instance("a", ("pytest==8.3.4", pin))).environment.packages == (pin.strip("'"),)


GIT = "git: {url: %s, base: %s, head: %s, merged: %s}"


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c id",
        "file:///etc",
        "http://x.org/a/b",
        "https://me:secret@x.org/a/b",
        "--upload-pack=x",
        "git@x.org:a/b",
    ],
)
def test_a_git_source_is_a_public_https_address(write_instance: Write, url: str) -> None:
    tree = "tree: {path: ../projects/shop, head: head.diff, reference: reference.diff}"
    (problem,) = faults(write_instance("a", (tree, GIT % (f"'{url}'", "a" * 40, "b" * 40, "c" * 40))))
    assert "it should be https://host/owner/name" in problem


def test_a_short_sha_is_refused(write_instance: Write) -> None:
    tree = "tree: {path: ../projects/shop, head: head.diff, reference: reference.diff}"
    (problem,) = faults(write_instance("a", (tree, GIT % ("https://x.org/a/b", "a" * 40, "b" * 7, "c" * 40))))
    assert "head is not a full sha" in problem


def test_links_are_not_followed_anywhere(write_instance: Write, tmp_path: Path) -> None:
    path = write_instance()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "test_c0.py").write_text("")
    (path.parent / "oracles" / "test_c0.py").unlink()
    (path.parent / "oracles").rmdir()
    (path.parent / "oracles").symlink_to(tmp_path / "secret")
    (path.parent / "head.diff").unlink()
    (path.parent / "head.diff").symlink_to(tmp_path / "secret" / "test_c0.py")
    assert sum("is a link or lies behind one" in problem for problem in faults(path)) == 2


def test_a_tree_may_be_the_instances_own(write_instance: Write) -> None:
    path = write_instance("shop-9", ("../projects/shop", "oracles"))
    source = load_instance(path).source.tree
    assert source is not None
    assert source.path == "oracles"


def test_a_tree_behind_a_link_is_refused(write_instance: Write, tmp_path: Path) -> None:
    path = write_instance()
    (tmp_path / "set" / "projects").rename(tmp_path / "elsewhere")
    (tmp_path / "set" / "projects").symlink_to(tmp_path / "elsewhere")
    (problem,) = faults(path)
    assert "lies behind a link" in problem


def test_two_comments_need_two_oracles(write_instance: Write) -> None:
    path = write_instance()
    text = path.read_text()
    path.write_text(text + text[text.index("  - id: c0") :].replace("id: c0", "id: c1"))
    (fault,) = faults(path)
    assert "comments c0 and c1 have oracles called test_c0.py" in fault


def test_instances_are_found_in_order_and_nothing_is_looked_at_inside_one(
    write_instance: Write, tmp_path: Path
) -> None:
    for name in ("b", "a-2", "a"):
        write_instance(name)
    inner = tmp_path / "set" / "a" / "inner"
    inner.mkdir()
    (inner / "instance.yaml").write_text("")
    hidden = tmp_path / "set" / ".crab"
    hidden.mkdir()
    (hidden / "instance.yaml").write_text("")
    (tmp_path / "set" / "linked").symlink_to(tmp_path / "set" / "b")
    assert [path.parent.name for path in find_instances(tmp_path)] == ["a", "a-2", "b"]
    assert list(find_instances(tmp_path / "set" / "a")) == [tmp_path / "set" / "a" / "instance.yaml"]
    assert list(find_instances(tmp_path / "set" / "b" / "instance.yaml")) == [tmp_path / "set" / "b" / "instance.yaml"]
    assert list(find_instances(tmp_path / "set" / "b" / "head.diff")) == []


def test_a_folder_of_instances_reports_the_faults_of_all(write_instance: Write, tmp_path: Path) -> None:
    write_instance("a", ("pytest==8.3.4", "pytest"))
    write_instance("b")
    write_instance("c", ("license: MIT\n", ""))
    with pytest.raises(BadInput) as caught:
        load_instances(tmp_path)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "set/a/instance.yaml",
        "set/c/instance.yaml",
    ]


def test_ids_that_differ_in_case_alone_are_refused(write_instance: Write, tmp_path: Path) -> None:
    write_instance("Shop")
    write_instance("shop")
    with pytest.raises(BadInput, match=r"id shop in .* is also that of"):
        load_instances(tmp_path)


def test_loading_imports_nothing_heavy() -> None:
    script = "import sys, pytest_crab.instances; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"docker", "git", "requests", "pypi_simple", "unidiff", "pytest", "scipy"}
    assert not heavy & set(loaded)
