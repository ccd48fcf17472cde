"""The address of this user's Docker engine: what a variable names, the context, or a socket that is there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_crab.errors import EngineError

NO_ANSWER = "no Docker engine answers"
_SYSTEM = "/var/run/docker.sock"
#: Sockets of other engines, which nothing here talks to.
_OTHERS = ("/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")
_TLS = ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")


def engine_settings() -> dict[str, Any]:
    """Return how the SDK reaches the engine; always with base_url.

    DOCKER_HOST decides, then DOCKER_CONTEXT or the context that ``docker context use`` chose, then the first socket
    that this user may use: the system's, that of a rootless engine, Docker Desktop's. Raises EngineError where the
    context is not there.
    """
    if os.environ.get("DOCKER_HOST") or any(os.environ.get(name) for name in _TLS):
        from docker.utils import kwargs_from_env

        settings = dict(kwargs_from_env())
        return {"base_url": f"unix://{_SYSTEM}", **settings}
    context = _context()
    if context is not None:
        return {"base_url": _host(context), **({"tls": context.TLSConfig} if context.TLSConfig else {})}
    usable = (socket for socket in sockets() if os.access(socket, os.W_OK))
    return {"base_url": f"unix://{next(usable, _SYSTEM)}"}


def may_answer() -> bool:
    """Return whether it is worth asking for an engine: not where its address is a socket that is not there."""
    try:
        address = str(engine_settings()["base_url"])
    except EngineError:  # which whoever asks is told
        return True
    return not address.startswith("unix://") or Path(address.removeprefix("unix://")).exists()


def sockets() -> list[str]:
    """Return where the sockets of engines are looked for, the system's first."""
    rootless = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    own = os.path.expanduser("~/.docker")  # noqa: PTH111 - a Path raises where there is no home
    return [_SYSTEM, f"{rootless}/docker.sock", f"{own}/run/docker.sock", f"{own}/desktop/docker.sock"]


def engine_sockets() -> Iterator[str]:
    """Yield the paths of all sockets that engines may listen at here: whoever reaches one reaches everything."""
    yield from (*sockets(), *_OTHERS)
    yield os.environ.get("DOCKER_HOST", "").removeprefix("unix://")
    with suppress(EngineError):
        yield _host(_context()).removeprefix("unix://")


def _host(context: Any) -> str:
    """Return the address of a context's engine, spelled as in DOCKER_HOST; empty without a context."""
    return str(getattr(context, "Host", "")).removeprefix("http+")


def _context() -> Any:
    """Return the SDK's Context that is chosen; None where it is the default one."""
    name, chosen_by = os.environ.get("DOCKER_CONTEXT", ""), "DOCKER_CONTEXT"
    if not name:
        folder = os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")  # noqa: PTH111 - as above
        chosen_by = f"{folder}/config.json"
        with suppress(OSError, ValueError, AttributeError):
            name = str(json.loads(Path(chosen_by).read_bytes()).get("currentContext") or "")
    if name in ("", "default"):
        return None
    from docker.context import ContextAPI

    try:
        found = ContextAPI.get_context(name)
    except Exception as error:
        raise EngineError(f"the Docker context {name}, which {chosen_by} names, cannot be read: {error}") from error
    if found is None:
        raise EngineError(f"there is no Docker context {name}, which {chosen_by} names: docker context ls lists them")
    return found
