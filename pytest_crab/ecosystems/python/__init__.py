"""Python: its interpreters, its packaging tools, and pytest."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from typing_extensions import override

from pytest_crab.ecosystems.contract import Ecosystem, Grammar, Names, Spelling, Variables, runner_source
from pytest_crab.ecosystems.distributions import NAME, VERSION
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.python import code_parts, laid_tests, looking, oracle_needs, packages
from pytest_crab.ecosystems.python.behaviour import behaviour_of
from pytest_crab.ecosystems.python.linter import LINTER
from pytest_crab.ecosystems.python.own_runner import own_runner
from pytest_crab.ecosystems.python.project_starts import only_starts_project
from pytest_crab.ecosystems.python.trees import UNREADABLE, read_python
from pytest_crab.types import Comment, Environment, Oracle

#: What runs oracles in Python.
RUNNER = "pytest"

#: For environments that are the running interpreter's: pytest loads what else is installed there, and this package not.
#: Its source may not be seen in a sandbox, and a project's own tests are none of its business.
WITHOUT_OURS = MappingProxyType({"PYTEST_ADDOPTS": "-p no:pytest_crab.plugin -p no:pytest_crab.benchmarks"})

_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
#: For commands of projects in such an environment: plugins that this machine happens to have are none of theirs, as
#: they are in no other environment that names no package.
WITHOUT_PLUGINS = MappingProxyType({_AUTOLOAD: "1"})

#: The project's tests may need the environment's plugins, and oracles name theirs.
_VARIABLES = Variables(
    runs={"PYTEST_ADDOPTS": None, "PYTEST_PLUGINS": None, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
          _AUTOLOAD: "1"},
    commands={_AUTOLOAD: None, **WITHOUT_OURS},
    paths=("PYTHONPATH",),
)  # fmt: skip

_PYTHON = re.compile(r"3\.\d{1,2}(?:\.\d{1,2})?")

_STUB = '''\
"""Red on the pull request, green once {comment} is resolved ({place})."""

# {stub}


def test_{comment}() -> None:
    raise NotImplementedError
'''

_LEFTOVERS = Patterns(
    names=(
        *("__pycache__", "*.pyc", "*.pyo", "*.pyd", "*.so"),
        *(".venv", ".tox", ".nox", "__pypackages__"),
        *("*.egg-info", ".eggs", "bdist.linux-*", "lib.linux-*", "temp.linux-*"),  # the last three lie in build
        *(".pytest_cache", ".hypothesis", ".coverage", ".coverage.*", "htmlcov", ".mypy_cache", ".ruff_cache"),
        ".ipynb_checkpoints",
    ),
    marks=("pyvenv.cfg",),  # a virtual environment, whatever it is called
)

#: What an install is made from beside the modules themselves: how the project is packaged, and what it compiles.
INSTALLED_FROM = Patterns(
    names=(
        *("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in"),
        *("meson.build", "meson.options", "meson_options.txt", "CMakeLists.txt", "*.cmake", "Makefile*", "configure*"),
        *("*.c", "*.h", "*.cc", "*.hh", "*.cpp", "*.hpp", "*.cxx", "*.hxx", "*.ipp", "*.inl", "*.cu", "*.cuh"),
        *("*.c.*", "*.h.*", "*.m", "*.mm", "*.s", "*.S", "*.asm", "*.i"),
        *("*.pyx", "*.pxd", "*.pxi", "*.pyx.*", "*.pxd.*", "*.pxi.*", "*_build.py"),  # the last is cffi's
        *("*.f", "*.F", "*.for", "*.f77", "*.f90", "*.F90", "*.f95", "*.f03", "*.f08", "*.pyf"),
        *("*.rs", "Cargo.toml", "Cargo.lock", "*.zig", "*.pas"),
    ),
)

_GRAMMAR = Grammar("tree_sitter_python", true=b"True", false=b"False", nothing=b"pass", denied=b"not ")
_LICENCE = re.compile(
    r"""^\s*license(?:-expression)?\s*[=:]\s*["']?([A-Za-z0-9.+-]+)["']?\s*$""", re.IGNORECASE | re.MULTILINE
)


class Python(Ecosystem):
    """Python with pytest: what an environment is for that asks for nothing else."""

    name = "python"
    languages = MappingProxyType({".py": "python", ".pyi": "python"})
    linter = LINTER
    grammars = MappingProxyType({".py": _GRAMMAR})
    names = Names(
        tests=r"^conftest\.py$",
        dependencies=(
            r"requirements[\w.-]*\.(?:txt|in)|constraints[\w.-]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|Pipfile"
        ),
        variables=(
            r"PYTHON(?:PATH|HOME|STARTUP|INSPECT|BREAKPOINT|SAFEPATH|PLATLIBDIR|EXECUTABLE|USERBASE)|PYTEST_\w*"
        ),
        old=r"python ?[23]\b|py[23]\d?\b",
        form=r"flake8|mypy|black|isort|ruff|docstrings?|python ?2|f-strings?",
    )
    compiled = (".so", ".pyd")
    package_caches = (".cache/pip", ".cache/uv", ".cache/pypoetry", ".local/share/uv", ".local/lib")
    variables = _VARIABLES
    tools = None
    runner = runner_source(__name__)
    parts = MappingProxyType({"tampering": runner_source(__name__, "tampering")})
    isolated_runners = frozenset({"pytest"})
    code_parts = code_parts
    takes_plugins = True
    stub = _STUB
    pin = Spelling(rf"{NAME}(?:\[{NAME}(?:, ?{NAME})*\])?=={VERSION}(?: ?; ?[\w.'\"<>=!() -]+)?", "name==version")
    runners = MappingProxyType({RUNNER: Spelling(r"\.py", ".py")})
    leftovers = _LEFTOVERS
    system_packages = ("/usr/lib/python3*/*-packages", "/usr/local/lib/python3*/*-packages")

    @override
    def owns(self, environment: Environment) -> bool:
        return environment.node is None and environment.ecosystem is None

    @override
    def version(self, environment: Environment) -> str | None:
        return environment.python

    @override
    def environment_faults(self, environment: Environment) -> Iterator[str]:
        if environment.python is not None and not _PYTHON.fullmatch(environment.python):
            yield f"environment.python is {environment.python!r}; it should be a version such as '3.11'"

    @override
    def laid_tests(self, texts: Mapping[str, str], tests: Collection[str] | None) -> str:
        return laid_tests.laid_tests(texts, tests)

    @override
    def is_told(self, run_id: str, path: str, name: str) -> bool:
        return laid_tests.is_told(run_id, path, name)

    @override
    def start(self, runner: str) -> Environment:
        return Environment(dockerfile=self.name)

    @override
    def licences(self, read: Callable[[str], str]) -> Iterator[str]:
        declared = (_LICENCE.search(read(name)) for name in ("pyproject.toml", "setup.cfg", "PKG-INFO"))
        yield from (found[1] for found in declared if found is not None)

    @override
    def licence_words(self) -> Mapping[str, tuple[str, ...]]:
        return {"PSF-2.0": ("python software foundation license version 2",)}

    @override
    def unreadable(self, source: bytes) -> str | None:
        try:
            read_python(source)
        except UNREADABLE as error:
            return str(error) or type(error).__name__
        return None

    @override
    def behaviour(self, path: str, source: bytes) -> object | None:
        return behaviour_of(path, source)

    @override
    def outside_needs(self, comment: Comment, source: str) -> Iterator[str]:
        yield from oracle_needs.outside_needs(comment, source)

    @override
    def only_starts_project(self, source: str) -> bool:
        return only_starts_project(source)

    @override
    def own_runner(self, read: Callable[[str], bytes | None], roots: Sequence[str]) -> str:
        return own_runner(read, roots)

    @override
    def is_copy(self, name: str, project: str) -> bool:
        return packages.is_copy(name, project)

    @override
    def absent(self, module: str) -> tuple[str, str]:
        return packages.absent(module)

    @override
    def is_structural(self, source: str) -> bool:
        return looking.is_structural(source)

    @override
    def unsupported_reason(self, facts: Mapping[str, Any], oracle: Oracle) -> str | None:
        """Return None: pytest is in every image that the harness can start in."""
        return None

    @override
    def needs_install(self, changed: Iterable[str], compiled: Collection[str]) -> bool:
        """Return whether a source of the build is among the files; modules that were compiled are sources too."""
        of_build = re.compile(INSTALLED_FROM.expression).search
        return any(of_build(path) or path in compiled for path in changed)
