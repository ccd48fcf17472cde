"""One pull request that all reviewers are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.testing.checkout import FakeCheckout
from pytest_crab.types import Category
from pytest_crab.types import Comment
from pytest_crab.types import Environment
from pytest_crab.types import Instance
from pytest_crab.types import Kind
from pytest_crab.types import Oracle
from pytest_crab.types import Provenance
from pytest_crab.types import PullRequestFacts
from pytest_crab.types import Side
from pytest_crab.types import Source
from pytest_crab.types import TreeSource

BASE = {"calc.py": b"import os\n\n\ndef half(x):\n    return x / 2\n", "notes.txt": b"old\n"}
HEAD = {
    "calc.py": b"import os\n\n\ndef half(x, seen=[]):\n    seen.append(x)\n    return x / 2\n",
    "notes.txt": b"import os\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> FakeCheckout:
    return FakeCheckout(tmp_path / "checkout", head=HEAD, base=BASE)


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    return Instance(
        id="calc-1",
        folder=str(tmp_path),
        provenance=Provenance.AUTHORED,
        repo="example/calc",
        license="MIT",
        pull_request=PullRequestFacts(number=1, title="Remember"),
        source=Source(tree=TreeSource(path="tree", head="head.diff", reference="reference.diff")),
        environment=Environment(dockerfile="python"),
        comments=(
            Comment(
                id="c0",
                path="calc.py",
                lines=(4, 5),
                body="The list is shared between calls.",
                category=Category.FUNCTIONAL,
                kind=Kind.BEHAVIORAL,
                oracle=Oracle(file="oracles/test_c0.py"),
            ),
            Comment(
                id="c1",
                path="notes.txt",
                lines=(1, 1),
                side=Side.LEFT,
                body="Keep this.",
                category=Category.DOCUMENTATION,
                kind=Kind.STRUCTURAL,
                oracle=Oracle(file="oracles/test_c1.py"),
            ),
        ),
    )
