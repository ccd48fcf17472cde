"""The build takes in the quickstart set, of which the one copy lies in instances/; all else is in setup.cfg."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithQuickstart(build_py):
    """Puts instances/quickstart into the package as its folder quickstart; an editable install reads it in place."""

    def run(self) -> None:
        """Build the modules, then copy the set."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "pytest_crab", "quickstart")
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(
                Path("instances", "quickstart"), target, ignore=shutil.ignore_patterns("__pycache__", ".[!g]*")
            )


setup(cmdclass={"build_py": BuildWithQuickstart})
