"""The project is initialized when that is asked for, and else left as it is."""

import collections
import collections.abc

import pytest

for _name in ("Mapping", "MutableMapping", "Sequence", "MutableSequence", "Set", "MutableSet", "KeysView"):
    # this old Ansible looks for them where they were before Python 3.10
    setattr(collections, _name, getattr(collections.abc, _name))

from ansible.modules.cloud.misc import terraform  # noqa: E402


class Exit(Exception):
    pass


class Fail(Exception):
    pass


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs the module with a terraform whose calls are recorded."""
    binary = tmp_path / "terraform"
    binary.write_text("")
    calls = []

    class Module:
        check_mode = False

        def __init__(self, argument_spec, **kwargs):
            options = {name: option.get("default") for name, option in argument_spec.items()}
            self.params = dict(options, project_path=str(tmp_path), binary_path=str(binary), **given)

        def get_bin_path(self, *args, **kwargs):
            return str(binary)

        def run_command(self, command, *args, **kwargs):
            words = command.split() if isinstance(command, str) else [str(word) for word in command]
            calls.append(words[1:])
            if words[1] == "init":
                assert kwargs.get("cwd", args[0] if args else None) == str(tmp_path)
            return codes.get(words[1], 0), "{}", "it said no"

        def warn(self, *args, **kwargs):
            pass

        def exit_json(self, **kwargs):
            raise Exit(kwargs)

        def fail_json(self, **kwargs):
            raise Fail(kwargs)

    codes = {}
    given = {}
    monkeypatch.setattr(terraform, "AnsibleModule", Module)

    def start(init=0, **params):
        del calls[:]
        codes["init"] = init
        given.clear()
        given.update(params)
        try:
            terraform.main()
        except Exit:
            return "exit", [call[0] for call in calls]
        except Fail:
            return "fail", [call[0] for call in calls]
        raise AssertionError("neither exit_json nor fail_json")

    return start


@pytest.mark.parametrize("init", [0, 1], ids=["init works", "init fails"])
def test_unless_it_is_asked_for_nothing_is_initialized(run, init):
    outcome, calls = run(init=init)
    assert outcome == "exit"
    assert "init" not in calls
    assert "plan" in calls


def test_also_when_something_is_taken_away(run):
    assert "init" not in run(state="absent")[1]


def test_it_is_initialized_first_when_that_is_asked_for(run):
    outcome, calls = run(force_init=True)
    assert outcome == "exit"
    assert calls.count("init") == 1
    assert calls[0] == "init"


def test_a_failure_of_what_was_asked_for_is_a_failure(run):
    outcome, calls = run(init=1, force_init=True)
    assert outcome == "fail"
    assert "plan" not in calls


@pytest.mark.parametrize("fetched", [False, True], ids=["fresh", "initialized-before"])
@pytest.mark.parametrize("asked", [False, True], ids=["not-asked", "asked"])
@pytest.mark.parametrize("state", ["present", "absent", "planned"])
def test_nothing_but_the_option_decides(run, tmp_path, state, asked, fetched):
    if fetched:
        (tmp_path / ".terraform" / "plugins").mkdir(parents=True)
        (tmp_path / "terraform.tfstate").write_text("{}")
    outcome, calls = run(state=state, force_init=asked)
    assert outcome == "exit"
    assert calls.count("init") == int(asked)
    assert "validate" in calls
    assert not asked or calls.index("init") < calls.index("validate")
