"""Files are written as UTF-8 whatever the locale is, and in another encoding on request."""

import codecs
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dotenv

SCRIPT = """
import sys
import dotenv
dotenv.save_dotenv({"NAME": "J\\u00fcrgen \\u2603"}, sys.argv[1])
"""


def save(values, path, **options):
    try:
        dotenv.save_dotenv(values, path, **options)
    except TypeError as error:
        pytest.fail(f"save_dotenv() does not take it: {error}")


def test_the_locale_does_not_matter(tmp_path):
    path = tmp_path / ".env"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment["PYTHONPATH"] = str(Path(dotenv.__file__).parents[1])
    command = [sys.executable, "-c", SCRIPT, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert dict(dotenv.dotenv_values(path)) == {"NAME": "J\u00fcrgen \u2603"}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_the_encoding_can_be_chosen(tmp_path, encoding):
    path = tmp_path / ".env"
    save({"NAME": "J\u00fcrgen", "OTHER": None}, path, encoding=encoding)
    assert "J\u00fcrgen" in path.read_text(encoding=encoding)
    assert dict(dotenv.dotenv_values(path, encoding=encoding)) == {"NAME": "J\u00fcrgen", "OTHER": None}


def test_the_default_is_utf_8(tmp_path):
    path = tmp_path / ".env"
    save({"NAME": "J\u00fcrgen"}, path)
    assert "J\u00fcrgen".encode("utf-8") in path.read_bytes()
    assert not path.read_bytes().startswith(codecs.BOM_UTF8)
    assert inspect.signature(dotenv.save_dotenv).parameters["encoding"].default in ("utf-8", "UTF-8", "utf8")


def test_it_counts_when_a_file_is_replaced_too(tmp_path):
    path = tmp_path / ".env"
    path.write_text("a=b")
    save({"NAME": "J\u00fcrgen", "OTHER": "x"}, path, overwrite=True, encoding="latin-1")
    assert path.read_bytes().count("\u00fc".encode("latin-1")) == 1
    assert dict(dotenv.dotenv_values(path, encoding="latin-1"))["NAME"] == "J\u00fcrgen"
    save({"NAME": "J\u00fcrgen"}, path, overwrite=True)
    assert dict(dotenv.dotenv_values(path)) == {"NAME": "J\u00fcrgen"}
    save({"NAME": "J"}, path, overwrite=True, encoding=None)
    assert dict(dotenv.dotenv_values(path)) == {"NAME": "J"}


def test_overwrite_is_still_the_third_argument(tmp_path):
    path = tmp_path / ".env"
    path.write_text("a=b")
    dotenv.save_dotenv({"c": "d"}, path, True)
    assert dotenv.dotenv_values(path) == {"c": "d"}
