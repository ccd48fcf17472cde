"""The files that pytest reads by itself where it runs: here, as the host of this package, and in a project."""

from __future__ import annotations

CONFTEST = "conftest.py"
#: Where it looks for one below a folder that is named.
CONFTESTS_BELOW = f"test*/{CONFTEST}"
#: Makes a folder a package, whose code runs when it is collected.
PACKAGE = "__init__.py"
#: Makes a folder the rootdir.
SETUP = "setup.py"
#: Its settings, and those of tools that share a file with it.
SETTINGS = (CONFTEST, "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml")
#: What an interpreter runs when it starts.
STARTUP = ("sitecustomize.py", "usercustomize.py")
#: Scripts of tools beside the code, which are no tests and no source of a project.
SCRIPTS = (SETUP, "noxfile.py", CONFTEST, "conf.py")
#: The end of the name of a module.
MODULE = ".py"
