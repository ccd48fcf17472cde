"""What a process that the oracle's process has started does to that process: as texts of Python, and as revisions."""

from __future__ import annotations

from hostile.confined import hungry
from hostile.shape import Kind

_C = """\
import ctypes, os, sys
parent, c = os.getppid(), ctypes.CDLL(None, use_errno=True)
"""
#: Each leaves with 0 if it has reached its parent. The numbers of calls are those of every architecture since Linux 5.
TEXTS = {
    "memory written by way of /proc": f"""{_C}
with open("/proc/%d/maps" % parent) as maps, open("/proc/%d/mem" % parent, "r+b", 0) as memory:
    start = next(int(line.split("-")[0], 16) for line in maps if " rw-p " in line)
    memory.seek(start)
    word = memory.read(8)
    memory.seek(start)
    memory.write(word)
""",
    "memory written by process_vm_writev": f"""{_C}
with open("/proc/%d/maps" % parent) as maps:
    start = next(int(line.split("-")[0], 16) for line in maps if " rw-p " in line)
class Part(ctypes.Structure):
    _fields_ = [("place", ctypes.c_void_p), ("size", ctypes.c_size_t)]
word = ctypes.create_string_buffer(8)
mine, others = Part(ctypes.addressof(word), 8), Part(start, 8)
for call in (c.process_vm_readv, c.process_vm_writev):
    if call(parent, ctypes.byref(mine), 1, ctypes.byref(others), 1, 0) != 8:
        sys.exit(1)
""",
    "traced and told what to run": f"""{_C}
attach, detach = 16, 17
c.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
if c.ptrace(attach, parent, None, None):
    sys.exit(1)
os.waitpid(parent, 0x40000000)
c.ptrace(detach, parent, None, None)
""",
    "descriptors taken by pidfd_getfd": f"""{_C}
opened = c.syscall(434, parent, 0)
taken = [c.syscall(438, opened, number, 0) for number in range(64)]
sys.exit(max(taken) < 0)
""",
    "files opened by way of /proc": f"""{_C}
folder = "/proc/%d/fd" % parent
sys.exit(not [os.readlink(folder + "/" + name) for name in os.listdir(folder)])
""",
}


def started(text: str) -> str:
    """Starts a child of the process that has imported the project; where only ancestors may trace, it is let in."""
    return (
        "import ctypes, subprocess, sys\n"
        "ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)\n"
        f"found = subprocess.call([sys.executable, '-c', {text!r}]) == 0"
    )


REVISIONS = [
    hungry(Kind.CHILDREN, f"the oracle's process by a child of it: {name}", started(text))
    for name, text in TEXTS.items()
]

#: A command of the project that rewrites what the oracle's process keeps of a failed test.
REWRITING = """\
import os, re
parent = os.getppid()
try:
    with open("/proc/%d/maps" % parent) as maps, open("/proc/%d/mem" % parent, "r+b", 0) as memory:
        for line in maps:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if "rw-p" not in line or end - start > 64 << 20:
                continue
            memory.seek(start)
            for found in re.finditer(b"failed", memory.read(end - start)):
                memory.seek(start + found.start())
                memory.write(b"passed")
except OSError:
    pass
"""
