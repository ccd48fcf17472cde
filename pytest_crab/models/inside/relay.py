"""Offer a Unix socket on 127.0.0.1, byte for byte: ``relay.py SOCKET PORT [COMMAND...]``; port 0 takes a free one.

Without a command it prints the port once it listens, and serves until it is killed. With one it prints nothing, runs
the command, and ends with its exit code (128 and the signal's number where a signal ended it). Works from CPython 3.6.
"""

# ruff: noqa: T201
# Few imports, for a fast start.
import socket
import subprocess
import sys
import threading

CHUNK = 65536


def pump(source: "socket.socket", target: "socket.socket") -> "None":
    """Copy until the source ends, then tell the target so; a broken side ends both."""
    try:
        while True:
            chunk = source.recv(CHUNK)
            if not chunk:
                target.shutdown(socket.SHUT_WR)
                return
            target.sendall(chunk)
    except OSError:
        for side in (source, target):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it was gone before


def serve(client: "socket.socket", path: "str") -> "None":
    """Join one connection to the Unix socket; a socket that does not answer closes the connection."""
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    gateway = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with client, gateway:
        try:
            gateway.connect(path)
        except OSError:
            return
        back = threading.Thread(target=pump, args=(gateway, client), daemon=True)
        back.start()
        pump(client, gateway)
        back.join()


def accept(listener: "socket.socket", path: "str") -> "None":
    """Serve for good, with a thread for each direction of each connection."""
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, path), daemon=True).start()


def main(path: "str", port: "int", command: "list[str]") -> "int":
    """Listen, and run the command or serve for good."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    if not command:
        print(listener.getsockname()[1], flush=True)
        accept(listener, path)
    threading.Thread(target=accept, args=(listener, path), daemon=True).start()
    code = subprocess.call(command)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
