"""Compiled code is built anew for each tree whose sources change: head's build serves no other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import diffs
from pytest_crab.agents import AGENTS
from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.instances import load_instance
from pytest_crab.protocols import CLIENT_LIMITS, Image, InstallResult, Runtime, Snapshot
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.docker import DockerRuntime
from pytest_crab.trial import Crew, CrewSpec, run_trial
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Instance, Reason, Trial, Verdict

QUICKSTART = min(Path(__file__, "../../../instances/quickstart").resolve().glob("*/instance.yaml")).parent
COMPILER = f"pytest-crab-test-compiler:{running_version()}"

#: A module in C whose value is in a header, so that a build which goes by the times of sources would miss a change.
SOURCE = """\
#include <Python.h>
#include "fast.h"
static PyObject *value(PyObject *self, PyObject *none) { return PyLong_FromLong(VALUE); }
static PyMethodDef methods[] = {{"value", value, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast", 0, -1, methods};
PyMODINIT_FUNC PyInit_fast(void) { return PyModule_Create(&module); }
"""
SETUP = """\
from setuptools import Extension, setup
setup(name="values", version="1", ext_modules=[Extension("%sfast", ["%sfast.c"])], %s)
"""
ORACLE_OF_COMPILED = """\
import value


def test_value():
    assert value.__file__.endswith(".so")
    assert value.value() == 3
"""
#: How a project is laid out and installed: the folder of the module, its name's beginning, what setup is told, install.
LAYOUTS = {
    "editable": ("pack/", "pack.", 'packages=["pack"]', "pip install --no-build-isolation --no-deps -e ."),
    "editable in src": (
        "src/pack/",
        "pack.",
        'packages=["pack"], package_dir={"": "src"}',
        "pip install --no-build-isolation --no-deps -e .",
    ),
    "in place": ("", "", "py_modules=[]", "python setup.py build_ext --inplace"),
    "among the packages": ("", "", "py_modules=[]", "pip install --no-build-isolation --no-deps ."),
}


def header(value: object) -> str:
    return f"#ifndef VALUE\n#define VALUE {value}\n#endif\n"


def changed(path: str, old: str, new: str) -> str:
    lines = [f"-{line}\n" for line in old.splitlines()] + [f"+{line}\n" for line in new.splitlines()]
    sizes = f"@@ -1,{old.count(chr(10))} +1,{new.count(chr(10))} @@\n"
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{sizes}{''.join(lines)}"


def compiling(lab: Any, layout: str) -> str:
    """Make the lab's project one in C whose value becomes 2 with the pull request and 3 with the reference."""
    folder, prefix, told, install = LAYOUTS[layout]
    lab.put("tree/setup.py", SETUP % (prefix, folder, told))
    lab.put(f"tree/{folder}fast.c", SOURCE)
    lab.put(f"tree/{folder}fast.h", header(1))
    if prefix:
        lab.put(f"tree/{folder}__init__.py", "from pack.fast import value\n")
    path = f"{folder}fast.h"
    lab.put("head.diff", changed(path, header(1), header(2)))
    lab.put("reference.diff", changed(path, header(2), header(3)))
    lab.put("checks/other.diff", changed(path, header(2), header("(1 + 2)")))
    lab.put("checks/near.diff", changed(path, header(2), header(4)))
    module = "pack" if prefix else "fast"
    lab.put("oracles/test_c0.py", f"import {module}\n\n\ndef test_value():\n    assert {module}.value() == 3\n")
    first = lab.document["comments"][0]
    lab.document["comments"] = [first | {"path": path, "reference": "reference.diff"}]
    lab.document["environment"] |= {"packages": ["setuptools==75.8.0"], "install": [install], "timeout": "60"}
    lab.document["environment"]["paths"] = ["src" if folder.startswith("src/") else "."]
    return path


pytestmark = pytest.mark.slow(reason="a compiler builds each tree, in each layout and on each runtime")


def judge_a_change(lab: Any) -> None:
    for value, reason in ((3, "green"), (5, "test failed")):
        lab.acting({lab.header: header(value)})
        trial = lab.trial()
        assert lab.reasons(trial) == {"c0": reason}, [result.detail for result in trial.results]


@pytest.mark.bubblewrap
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "editable"])  # which each runtime plays below
def test_a_change_of_compiled_code_is_seen_in_each_layout(layout: str, make_lab: Callable[..., Any]) -> None:
    lab = make_lab()
    lab.header = compiling(lab, layout)
    judge_a_change(lab)


def told(*argv: str) -> list[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="session")
def image_with_a_compiler(runtimes: Callable[[str], Runtime], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of an image: the base, with this machine's gcc and the headers of its Python."""
    base = str(runtimes("docker").identity(load_instance(QUICKSTART), {})["base"])
    found = [told("gcc", f"-print-prog-name={name}")[0] for name in ("cc1", "collect2", "as", "ld")]
    found += ["gcc", str(sysconfig.get_config_var("CC")).split()[0]]  # the second is what Python calls it
    programs = [str(shutil.which(name)) for name in found]
    parts = ("crti.o", "crtn.o", "crtbeginS.o", "crtendS.o", "libgcc.a", "libgcc_s.so", "libgcc_s.so.1", "libc.so")
    parts += ("libc.so.6", "libc_nonshared.a", "liblto_plugin.so", "include")
    files = [told("gcc", f"-print-file-name={part}")[0] for part in parts]
    libraries = [word for program in programs for word in told("ldd", program) if word.startswith("/")]
    folder = tmp_path_factory.mktemp("compiler")
    for path in dict.fromkeys(map(os.path.normpath, (*programs, *files, *libraries, "/usr/include"))):
        place = Path(f"{folder}/root{Path(path).parent.resolve()}")  # /lib may be a link, and is one in the image
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-aL", path, place], check=True)
    headers = f"{folder}/root/usr/local/include/python{running_version()}"
    shutil.copytree(sysconfig.get_path("include"), headers, dirs_exist_ok=True)
    (folder / "Dockerfile").write_text(f"FROM {base}\nCOPY root/ /\n")
    subprocess.run(["docker", "build", "--quiet", "--tag", COMPILER, folder], check=True, capture_output=True)
    return COMPILER


class Counting:
    """A runtime that counts the installs of revised trees."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.installs = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def reinstall(self, image: Image, instance: Instance, snapshot: Snapshot, tree: str) -> InstallResult:
        self.installs += 1
        return self._runtime.reinstall(image, instance, snapshot, tree)


@pytest.fixture(scope="module", params=["local", pytest.param("docker", marks=pytest.mark.docker)])
def compiled(
    request: pytest.FixtureRequest,
    make_lab: Callable[..., Any],
    runtimes: Callable[[str], Runtime],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """A lab whose project is compiled, on each runtime, which counts."""
    runtime = runtimes("local")
    if request.param == "docker":
        base = request.getfixturevalue("image_with_a_compiler")
        runtime = DockerRuntime(RuntimeSettings(base_image=base), rootdir=tmp_path_factory.mktemp("root"), slots=8)
    lab = make_lab(runtime=Counting(runtime))
    lab.header = compiling(lab, "editable")
    yield lab
    if request.param == "docker":
        runtime.close()


def reviewed_by(lab: Any, reviewer: str) -> Trial:
    """A trial of a reviewer whose findings an agent follows to the letter."""
    spec = CrewSpec(
        reviewer=reviewer,
        reviewer_spec=REVIEWERS.spec(reviewer, {}, lab.folder),
        agent="simulated",
        agent_spec=AGENTS.spec("simulated", {}, lab.folder),
    )
    return run_trial(lab.instance(), Crew.build(spec), lab.run_context())


@pytest.mark.bubblewrap
def test_each_tree_is_built_once_and_judged_by_its_own_build(compiled: Any) -> None:
    """One test for all, since what it is played on takes longest to build."""
    assert compiled.reasons(reviewed_by(compiled, "human")) == {"c0": "green"}
    assert compiled.runtime.installs == 1  # for the proof, and for the revision, which is the same tree
    judge_a_change(compiled)
    if compiled.runtime.name == "local":  # the runtime has no say in it, nor below
        assert [result.verdict for result in reviewed_by(compiled, "none").results] == [Verdict.MISSED]
        builds_each_tree_once(compiled)
    does_not_compile(compiled)
    builds_in_its_workspace(compiled)
    if compiled.runtime.name == "local":
        no_longer_compiles(compiled)
        proves_nothing(compiled)


def builds_each_tree_once(lab: Any) -> None:
    """Another tree with the same sources is built too; none is built twice."""
    before = lab.runtime.installs
    lab.acting({lab.header: header(3), "README": "of another tree"})
    assert lab.reasons(lab.trial()) == {"c0": "green"}
    assert lab.runtime.installs == before + 1
    assert [step for step, _ in lab.run_context().store.objects()].count("install") == lab.runtime.installs


def does_not_compile(lab: Any) -> None:
    """A revision that does not compile is missed, with the compiler's words."""
    lab.acting({lab.header: header("there_is_no_such_name")})
    (result,) = lab.trial().results
    assert (result.reason, result.verdict) == (Reason.INSTALL, Verdict.MISSED)
    assert "there_is_no_such_name" in str(result.detail)
    assert lab.left() == []


def no_longer_compiles(lab: Any) -> None:
    """A module that a revision no longer compiles is gone."""
    setup = "from setuptools import setup\nsetup(name='values', version='1', packages=['pack'])\n"
    lab.acting({"setup.py": setup, lab.header: header(3)})
    (result,) = lab.trial().results
    assert result.reason is Reason.NOT_COLLECTED
    assert "ImportError" in str(result.detail) or "ModuleNotFoundError" in str(result.detail)


def builds_in_its_workspace(lab: Any) -> None:
    """An agent can build in its workspace, and what it built is no change."""
    context = TrialContext(lab.instance(), lab.crew(), lab.run_context(), lambda _step: None)
    image, snapshot = context.image, context.snapshot
    with lab.runtime.workspace(image, snapshot, limits=CLIENT_LIMITS) as workspace:
        script = 'printf \'%s\' "$1" > "$2"; python setup.py -q build_ext --inplace --force'
        built = workspace.run(("sh", "-ec", script, "sh", header(7), lab.header), seconds=120)
        assert built.exit_code == 0, built.stderr
        shown = workspace.run(("python", "-c", "import pack; print(pack.value())"), seconds=30)
        assert shown.stdout == b"7\n", shown.stderr
        assert diffs.touched_paths(workspace.diff()) == {lab.header}


def proves_nothing(lab: Any) -> None:
    """A reference that does not compile proves nothing."""
    lab.put("reference.diff", changed(lab.header, header(2), header("there_is_no_such_name")))
    try:
        (result,) = lab.trial().results
    finally:
        lab.put("reference.diff", changed(lab.header, header(2), header(3)))
    assert (result.reason, result.verdict) == (Reason.BROKEN, Verdict.UNKNOWN)
    assert "not green on the reference: install broke" in str(result.detail)
    assert "there_is_no_such_name" in str(result.detail)


@pytest.mark.bubblewrap
def test_a_module_of_python_that_the_install_compiled_is_compiled_anew(make_lab: Callable[..., Any]) -> None:
    lab = make_lab()
    setup = "from Cython.Build import cythonize\nfrom setuptools import setup\n"
    lab.put("tree/setup.py", f'{setup}setup(name="values", version="1", ext_modules=cythonize(["value.py"]))\n')
    lab.put("oracles/test_c0.py", ORACLE_OF_COMPILED)
    lab.document["comments"] = lab.document["comments"][:1]
    lab.document["environment"] |= {
        "packages": ["setuptools==75.8.0", "Cython==3.0.11"],
        "install": ["python setup.py build_ext --inplace"],
        "timeout": "120",
    }
    for value, reason in ((3, "green"), (5, "test failed")):
        lab.acting({"value.py": f"def value():\n    return {value}\n"})
        trial = lab.trial()
        assert lab.reasons(trial) == {"c0": reason}, [result.detail for result in trial.results]
