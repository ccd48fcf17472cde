"""Oracles as another user: one end keeps the project and runs its commands, the other runs the oracles and asks.

They meet at a Unix socket. An oracle's command hands its own standard streams over, so nothing is relayed and
long-lived commands work; the project's end decides everything else (interpreter, import roots, folder, user).
"""

import array
import json
import os
import select
import signal
import socket
import stat
import sys
import time

WAIT = 30.0
LINE = 1 << 20
#: How many may be connected at once, each with what it hands over: far fewer descriptors than a process may have open.
PEERS, STREAMS = 96, 3

#: What an isolated oracle starts in place of the project's interpreter: hands its arguments, its changed variables and
#: its streams over; ends as the command ended. It starts for each command of an oracle, so it imports no json and no
#: socket, which take as long as Python.
SHIM = """\
#!%(interpreter)s -IS
import _signal, _socket, array, os, sys
from _json import encode_basestring_ascii as quoted
known = %(known)s
kept = ("PATH", "HOME", "TMPDIR", "PYTHONPATH", "PWD", "OLDPWD", "_", "SHLVL")
def forwarded(name, value):
    return known.get(name) != value and name not in kept and not name.startswith(("PYTEST_", "CRAB_", "LD_"))
env = ",".join(quoted(name) + ":" + quoted(value) for name, value in os.environ.items() if forwarded(name, value))
line = ('{"argv":[' + ",".join(map(quoted, sys.argv[1:])) + '],"env":{' + env + "}}\\n").encode()
place = _socket.socket(_socket.AF_UNIX)
place.connect(%(place)r)
sent = place.sendmsg([line], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]).tobytes())])
place.sendall(line[sent:])
for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGUSR1, _signal.SIGUSR2):
    _signal.signal(number, lambda number, _: place.sendall(b"%%d\\n" %% number))
answer = b""
while not answer.endswith(b"\\n"):
    more = place.recv(64)
    if not more:
        sys.exit("the project's side went away")
    answer += more
code = int(answer)
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL) if -code not in (_signal.SIGKILL, _signal.SIGSTOP) else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def main(supervisor):
    """Do this end's part of an isolated job."""
    if supervisor.job["role"] == "project":
        Server(supervisor).serve()
    else:
        oracle_side(supervisor)


def address(job):
    """Return where the two ends meet: a socket in a folder, or with @ a name of the kernel's own.

    Such a name is no file: nothing can take it over while its listener lives.
    """
    place = job["socket_folder"]
    return "\0" + place[1:] if place.startswith("@") else os.path.join(place, "crab.sock")


def inherited_listener():
    """Return the listening socket that the runtime handed over, None where it handed over none."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
        except OSError:  # the listing's own descriptor is gone by now
            continue
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, int(name))
        if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            found.set_inheritable(False)
            return found
        found.detach()
    return None


def lines_of(data):
    """Split what arrived into whole lines and the rest."""
    *whole, rest = data.split(b"\n")
    return whole, rest


class Peer:
    """One connection: a command of the project, or the other end of the job."""

    def __init__(self, connection):
        self.connection, self.data, self.streams, self.pid = connection, b"", [], None

    def receive(self):
        """Take in what is there, with the streams that came along; return False if the other end is gone or floods."""
        space = socket.CMSG_SPACE(STREAMS * array.array("i").itemsize)
        try:
            data, extra, _, _ = self.connection.recvmsg(1 << 16, space)
        except OSError:
            data, extra = b"", []
        for level, kind, content in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                streams = array.array("i")
                streams.frombytes(content[: len(content) - len(content) % streams.itemsize])
                self.streams.extend(streams)
        self.data += data
        return bool(data) and len(self.data) <= LINE and len(self.streams) <= STREAMS

    def drop_streams(self):
        """Close what the other end handed over."""
        for stream in self.streams:
            os.close(stream)
        self.streams = []

    def close(self):
        """Close the connection and everything that came over it."""
        self.drop_streams()
        self.connection.close()


class Server:
    """The project's end: restores and builds the tree when the other end says so, and runs one process per peer."""

    def __init__(self, supervisor):
        self.supervisor = supervisor
        self.token = supervisor.job["token"]
        self.peers = []
        self.control = None
        self.before = {}
        self.listener = inherited_listener()
        self.lasting = self.listener is not None or supervisor.job["socket_folder"].startswith("@")
        if self.listener is None:  # else the other end may wait there already
            self.open()

    def listen(self):
        """Listen anew: a file is opened anew, whatever lies there; of a lasting place whoever waits is sent away."""
        if not self.lasting:
            self.open()
            return
        while select.select([self.listener], [], [], 0)[0]:
            self.listener.accept()[0].close()

    def open(self):
        """Open the socket that both ends use."""
        place = address(self.supervisor.job)
        if self.listener:
            self.listener.close()
        self.listener = socket.socket(socket.AF_UNIX)
        if place.startswith("\0"):
            self.listener.bind(place)
        else:
            if os.path.lexists(place):
                os.unlink(place)
            self.listener.bind(place)
            os.chmod(place, 0o777)  # noqa: S103 - the oracle's user connects
        self.listener.listen(16)

    def serve(self):
        """Serve until the other end goes away, or for a while if it never comes."""
        end = time.monotonic() + WAIT
        while True:
            sources = [self.listener, self.supervisor.woken] + [peer.connection for peer in self.peers]
            ready = select.select(sources, [], [], 1.0)[0]
            if self.supervisor.woken in ready:
                self.supervisor.drain()
            self.collect()
            for peer in [peer for peer in self.peers if peer.connection in ready]:
                if peer in self.peers and not self.hear(peer):  # another of this round may have sent it away
                    self.dismiss(peer)
            if self.listener in ready:
                self.greet()
            if self.control not in self.peers and (self.control or time.monotonic() > end):
                self.clear()
                return

    def greet(self):
        """Let in who waits; beyond what can be served everyone but the other end of the job is sent away."""
        if len(self.peers) >= PEERS:
            self.clear()
        try:
            self.peers.append(Peer(self.listener.accept()[0]))
        except OSError:  # the system has no descriptor left, which only processes of the project can have done
            self.clear()

    def hear(self, peer):
        """Do what a peer asks; return False if it is to be dismissed."""
        if not peer.receive():
            return False
        whole, peer.data = lines_of(peer.data)
        for line in whole:
            try:
                said = json.loads(line.decode())
                if isinstance(said, int) and peer.pid:
                    os.kill(peer.pid, said)
                elif isinstance(said, dict) and said.get("token") == self.token:
                    self.control = peer
                    peer.connection.sendall(json.dumps(self.obey(said)).encode() + b"\n")
                elif isinstance(said, dict) and peer.pid is None and len(peer.streams) == STREAMS:
                    self.start(peer, said)
                else:
                    return False
            except Exception:  # noqa: BLE001 - whatever a line of the project's makes of this, who sent it goes and the rest stays
                return False
            if peer not in self.peers:
                return True
        return True

    def obey(self, said):
        """Do what the other end of the job asks."""
        supervisor = self.supervisor
        self.clear()
        if supervisor.stuck:
            return supervisor.unstarted(OSError(supervisor.stuck))
        if said["op"] == "end":
            after = supervisor.counters()
            return {name: after[name] > count for name, count in self.before.items() if count is not None}
        run = {"seconds": said["seconds"]}
        try:
            supervisor.restore(said["state"])
            supervisor.fresh_folder()
            failed = supervisor.built(run)
            supervisor.put_back(said)
            self.listen()
        except (OSError, ValueError) as error:
            return supervisor.unstarted(error)
        self.before = supervisor.counters()
        return failed or run

    def start(self, peer, said):
        """Run the interpreter of the project's language on the peer's streams."""
        supervisor = self.supervisor
        env, _ = supervisor.environment()
        env.update((str(name), str(value)) for name, value in said["env"].items())
        argv = [supervisor.job["program"]] + [str(word) for word in said["argv"]]
        workdir = supervisor.job["workdir"]

        def run():
            os.chdir(workdir)
            os.execve(argv[0], argv, env)  # noqa: S606

        peer.pid = supervisor.fork(run, set(), peer.streams)
        peer.drop_streams()

    def collect(self):
        """Tell each peer whose process has ended how it ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            for peer in [peer for peer in self.peers if peer.pid == pid]:
                code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
                try:
                    peer.connection.sendall(b"%d\n" % code)
                except OSError:  # it went away in the same moment, and nobody waits for the code
                    code = None
                peer.pid = None
                self.dismiss(peer)

    def dismiss(self, peer):
        """Let a peer go; a process that it asked for goes with it."""
        self.peers.remove(peer)
        if peer.pid:
            try:
                os.killpg(peer.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                peer.pid = None
        peer.close()

    def clear(self):
        """End every process of the project and every peer but the other end of the job.

        Where some cannot be ended, the supervisor begins nothing any more.
        """
        for peer in [peer for peer in self.peers if peer is not self.control]:
            self.dismiss(peer)
        try:
            self.supervisor.kill_all()
        except OSError:  # the other end is told at its next word
            return


class Control:
    """The oracle's end of the connection between the two."""

    def __init__(self, job):
        self.token = job["token"]
        self.data = b""
        self.connection = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + WAIT
        while True:
            try:
                self.connection.connect(address(job))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def ask(self, **words):
        """Ask the project's end for something; its answer, or None if it has gone, and from then on."""
        try:
            self.connection.settimeout(300.0 + words.get("seconds", 0.0))
            self.connection.sendall(json.dumps(dict(words, token=self.token)).encode() + b"\n")
            while b"\n" not in self.data:
                more = self.connection.recv(1 << 16)
                if not more:
                    raise ConnectionResetError
                self.data += more
        except OSError:
            self.connection.close()  # what comes late would be taken for another answer
            return None
        line, _, self.data = self.data.partition(b"\n")
        return json.loads(line.decode())


def oracle_side(supervisor):
    """Run every oracle of the job against the project's end."""
    control, gone = None, None
    try:
        control = Control(supervisor.job)
    except OSError as error:
        gone = {"ending": "unstarted", "detail": "the project's side did not connect: %s" % error}
    for run in supervisor.job["runs"]:
        supervisor.tell(run, lambda run: dict(gone) if gone else one(supervisor, control, run))


def one(supervisor, control, run):
    """Run one oracle; its result. Raises OSError, ValueError."""
    ended = "the project's side was ended"
    answer = control.ask(op="restore", state=run["state"], part=run["part"], seconds=run["seconds"])
    if answer is None or "ending" in answer:
        return answer or {"ending": "unstarted", "detail": ended}
    run["seconds"] = answer["seconds"]
    folder = supervisor.fresh_folder()
    shim = os.path.join(folder, "home", "project")
    env, _ = supervisor.environment()
    words = {"interpreter": sys.executable, "known": ascii(env), "place": address(supervisor.job)}
    with open(shim, "w") as file:
        file.write(SHIM % words)
    os.chmod(shim, 0o700)
    result = supervisor.parts[run["part"]].run(supervisor, run, shim)
    grown = control.ask(op="end")
    if grown is None or "ending" in grown:
        return grown or {"ending": "lost", "detail": ended}
    failed = any(test["outcome"] in ("failed", "error") for test in result.get("tests", ()))
    refused = [name for name in ("memory", "processes") if grown.get(name)]
    if failed and result["ending"] == "completed" and refused:
        result["ending"] = refused[0]
    return result
