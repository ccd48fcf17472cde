"""Oracles that only start the project, as their source says."""

from __future__ import annotations

import pytest

from pytest_crab.ecosystems.python.project_starts import only_starts_project

RUN = (
    "import subprocess, sys\ndef test_it(tmp_path):\n    subprocess.run([sys.executable, '-m', 'shop'], cwd=tmp_path)\n"
)


@pytest.mark.parametrize(
    "source",
    [
        RUN,
        "import pytest\nfrom hypothesis import given\n" + RUN,
        "import os, subprocess\ndef test_it():\n    subprocess.run([os.environ['CRAB_PYTHON'], '-m', 'shop'])\n",
        "import subprocess\nfrom sys import executable as py\ndef test_it():\n    subprocess.run([py, '-m', 'x'])\n",
        RUN + "    open(tmp_path / 'out').read()\n",
        RUN + "    cwd = tmp_path\n    subprocess.run([sys.executable, '-m', 'shop'], cwd=cwd)\n",
    ],
)
def test_it_only_starts_the_project(source: str) -> None:
    assert only_starts_project(source)


@pytest.mark.parametrize(
    "source",
    [
        "import shop\n" + RUN,
        "from . import shop\n" + RUN,
        RUN + "    import shop.cart\n",
        RUN + "    __import__('shop')\n",
        "from importlib import import_module\n" + RUN,
        "import importlib.metadata\n" + RUN,
        RUN + "    import pytest\n    pytest.importorskip('shop')\n",
        RUN + "    open('setup.cfg')\n",
        "import os\n" + RUN + "    os.listdir(os.getcwd())\n",
        "from os import getcwd as here\n" + RUN + "    open(here() + '/setup.cfg')\n",
        "from pathlib import Path\n" + RUN + "    Path('setup.cfg').read_text()\n",
        "def test_it():\n    assert True\n",
        "import subprocess\ndef test_it():\n    subprocess.run(['bash', 'run.sh'])\n",
        "def test_it(:\n",
    ],
)
def test_it_does_more_or_something_else(source: str) -> None:
    assert not only_starts_project(source)
