"""Whatever stands in front, completing the third word works for commands with a hyphen."""

import subprocess

import pytest

SCRIPT = "scripts/completion/dvc.bash"
GLOBAL = {"-h", "--help", "-q", "--quiet", "-v", "--verbose"}


def complete(*words):
    """What bash offers in the place of the last word, and what it has to complain about."""
    program = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dvc; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", program, "bash", SCRIPT, "dvc", *words],
        capture_output=True,
        text=True,
        timeout=30,
    )
    return set(done.stdout.split()), done.stderr


@pytest.mark.parametrize("command", ["import-url", "get-url", "a-new-command"])
@pytest.mark.parametrize("word", ["data", "some-data", "a-b-c"])
def test_after_a_command_with_a_hyphen(command, word):
    offered, complaints = complete(command, word, "--")
    assert complaints == ""
    assert offered >= {name for name in GLOBAL if name.startswith("--")}


@pytest.mark.parametrize("word", ["some-data", "data", "a-b-c"])
def test_after_a_command_without_one(word):
    offered, complaints = complete("add", word, "-")
    assert complaints == ""
    assert offered >= GLOBAL


def test_the_options_of_a_command_below_a_command():
    offered, complaints = complete("remote", "add", "--")
    assert complaints == ""
    assert offered >= {"--global", "--default", "--force", "--verbose"}


def test_the_options_of_a_command_with_a_hyphen():
    offered, complaints = complete("import-url", "-")
    assert complaints == ""
    assert offered >= GLOBAL | {"-f", "--file"}


def test_the_commands():
    assert complete("import")[0] >= {"import", "import-url"}


def test_a_command_with_several_hyphens_below_one_with_a_hyphen():
    """Where the script has options for both halves, they are offered."""
    program = 'source "$1"; _dvc_a_b_c_d_e="--deep"; COMP_WORDS=(dvc a-b c-d-e --); COMP_CWORD=3; _dvc; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", program, "bash", SCRIPT], capture_output=True, text=True, timeout=30)
    assert done.stderr == ""
    assert "--deep" in done.stdout.split()
