"""What an environment of PHP has to say, what its build brings, and what its images can run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import ecosystems
from pytest_crab.ecosystems.php.tools import PhpTools
from pytest_crab.types import Environment, Oracle

ORACLE = Oracle(file="test_c0.php", runner="phpunit")


def put(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


@pytest.mark.php
def test_a_build_brings_what_the_lock_and_the_instance_pin_and_finds_phpunit(tmp_path: Path) -> None:
    tree, caches = tmp_path / "tree", tmp_path / "caches"
    near: dict[str, Any] = {"type": "path", "url": "../money", "options": {"symlink": False}}
    put(tmp_path / "money/composer.json", {"name": "example/money", "version": "1.2.0"})
    put(tree / "composer.json", {"repositories": [{"packagist": False}, near], "require": {"example/money": "1.*"}})
    phpunit = {"name": "phpunit/phpunit", "version": "9.6.7", "autoload": {"files": ["load.php"]}}
    put(tmp_path / "phpunit/composer.json", phpunit)
    (tmp_path / "phpunit/load.php").write_text(
        "<?php\nset_include_path('/usr/share/php');\nrequire 'PHPUnit/Autoload.php';\n"
    )
    put(caches / "composer/config.json", {"repositories": [{"packagist": False}, {**near, "url": "../phpunit"}]})
    tools = PhpTools()
    found = tools.here()
    assert found is not None
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **tools.placed(found, str(caches)).env}
    subprocess.run(["composer", "update", "-q", "-n", "--no-install"], cwd=tree, env=env, check=True)
    assert not (tree / "vendor").exists()
    environment = Environment(ecosystem="php", version="8.2", packages=("phpunit/phpunit:9.6.7",))
    subprocess.run(["sh", "-c", tools.build_script(environment)], cwd=tree, env=env, check=True, capture_output=True)
    assert (tree / "vendor/example/money/composer.json").is_file()
    assert (caches / "phpunit").read_text() == f"{caches}/vendor/autoload.php\n"


def test_what_an_image_cannot_run_is_said() -> None:
    assert "set environment.ecosystem to php" in str(ecosystems.unsupported_reason({}, ORACLE))
    tools = {"php": {"program": "/usr/bin/php", "version": "8.2.1"}}
    assert ecosystems.unsupported_reason({"tools": tools}, ORACLE) is None


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (Environment(ecosystem="php"), "environment.version is missing"),
        (Environment(ecosystem="php", version="eight"), "it should be that of PHP"),
        (Environment(ecosystem="php", version="8.2", dockerfile="go"), "it should be php"),
    ],
)
def test_what_is_wrong_with_an_environment_is_said(environment: Environment, words: str) -> None:
    (fault,) = ecosystems.environment_faults(environment)
    assert words in fault


@pytest.mark.parametrize(("said", "names"), [('"MIT"', ["MIT"]), ('["MIT", "GPL-3.0"]', ["MIT", "GPL-3.0"]), ("3", [])])
def test_a_licence_is_found_in_composer_json(said: str, names: list[str]) -> None:
    assert [*ecosystems.named("php").licences(lambda _: f'{{"license": {said}}}')] == names
    assert [*ecosystems.named("php").licences(lambda _: "")] == []
