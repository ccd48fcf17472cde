import pytest

from jobqueue import Queue, save
from jobqueue.cli import main


@pytest.fixture
def attempt(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    save(Queue(), tmp_path / "jobs")

    def attempt(module, text=None):
        if text is not None:
            (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        try:
            status = main(["work", str(tmp_path / "jobs"), "--tasks", module])
        except Exception as error:
            pytest.fail(f"not one line but a traceback: {error!r}")
        return status, capsys.readouterr().err

    return attempt


def is_one_error(status, told):
    """What the README promises; what is logged beside it is not asked for."""
    return status == 2 and [line[:7] for line in told.splitlines() if "error: " in line] == ["error: "] and "Traceback" not in told


@pytest.mark.parametrize(
    ("module", "text", "missing"),
    [
        ("tasks_without_a_package", "import stripes_of_a_zebra\n", "stripes_of_a_zebra"),
        ("tasks_without_a_name", "from json import loads_of_zebras\n", "loads_of_zebras"),
        ("tasks_of_a_submodule", "import json.zebra\n", "json.zebra"),
    ],
)
def test_what_is_missing_is_named(attempt, module, text, missing):
    status, told = attempt(module, text)
    assert is_one_error(status, told)
    assert missing in told


def test_so_is_the_module_itself(attempt):
    status, told = attempt("tasks_that_are_nowhere")
    assert is_one_error(status, told)
    assert "tasks_that_are_nowhere" in told


def test_a_module_without_tasks(attempt):
    status, told = attempt("tasks_in_name_only", "")
    assert is_one_error(status, told)
    assert "tasks_in_name_only" in told


def test_a_good_module(attempt):
    status, told = attempt("tasks_all_right", "from jobqueue import Tasks\ntasks = Tasks()\n")
    assert status == 0
    assert "error: " not in told


@pytest.mark.parametrize(
    ("text", "missing"),
    [("import stripes_of_a_zebra\n", "stripes_of_a_zebra"), ("from . import zebra\n", "zebra"), ("from .zebra import tasks\n", "zebra")],
)
def test_a_module_of_a_package(attempt, tmp_path, text, missing):
    name = f"shop_{abs(hash(text))}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / name / "mails.py").write_text(text, encoding="utf-8")
    status, told = attempt(f"{name}.mails")
    assert is_one_error(status, told)
    assert missing in told


def test_what_is_missing_further_down(attempt, tmp_path):
    (tmp_path / "helper_of_the_tasks.py").write_text("import stripes_of_a_zebra\n", encoding="utf-8")
    status, told = attempt("tasks_with_a_helper", "import helper_of_the_tasks\n")
    assert is_one_error(status, told)
    assert "stripes_of_a_zebra" in told
