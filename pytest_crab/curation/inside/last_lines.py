"""Run one command of the project and print the last lines of what it says; works from CPython 3.6 up.

Standard input is JSON: parts (tree), tree, workdir, changes, scratch, roots, site, env, programs, argv, seconds and
most, a number of characters. The result is JSON on standard output: a text.
"""

import json
import os
import subprocess
import sys
import tempfile
import types


def main():
    """Do it; the sandbox ends what the command leaves running."""
    job = json.loads(sys.stdin.buffer.read().decode())
    tree = types.ModuleType("tree")
    exec(job["parts"]["tree"], tree.__dict__)  # noqa: S102 - sent by the host
    tree.copy(job["tree"], job["workdir"])
    tree.change(job["workdir"], job["changes"])
    home = tempfile.mkdtemp(dir=job["scratch"])
    roots = [os.path.normpath(os.path.join(job["workdir"], path)) for path in job["roots"]]
    env = dict(os.environ, **job["env"])
    env.update(PYTHONPATH=os.pathsep.join(roots + job["site"]), HOME=home, TMPDIR=home, PYTHONDONTWRITEBYTECODE="1")
    programs = [os.path.dirname(program) for program in [sys.executable] + job["programs"]]
    env["PATH"] = os.pathsep.join([*programs, env.get("PATH", os.defpath)])
    argv = list(job["argv"])
    argv[0] = sys.executable if argv[0] in job["aliases"] else argv[0]
    with tempfile.TemporaryFile(dir=home) as said:
        try:
            subprocess.run(
                argv,
                cwd=job["workdir"],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=job["seconds"],
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            said.seek(0, os.SEEK_END)
            said.write(("\n%s: %s\n" % (type(error).__name__, error)).encode("utf-8", "replace"))
        said.seek(max(0, said.seek(0, os.SEEK_END) - 4 * job["most"]))
        text = said.read().decode("utf-8", "replace")
    sys.stdout.write(json.dumps(text[-job["most"] :]))
    sys.stdout.flush()


main()
