"""The shared part of every build of an environment: the route to packages, and the install commands as a script."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: The variables, in lower case, that say how this machine reaches the internet.
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


def install_script(environment: Environment, constraints: str | None = None) -> str:
    """The commands that make the built tree as one shell script, which stops at the first that fails.

    ``constraints`` is the file that keeps isolated builds to the environment's moment.
    """
    variables = dict(environment.env)
    if constraints is not None and environment.resolved is not None:
        dated = {"PIP_CONSTRAINT": constraints, "PIP_BUILD_CONSTRAINT": constraints}  # pip before and since 25.3
        variables = {**dated, "UV_EXCLUDE_NEWER": environment.resolved, **variables}
    exports = [f"export {name}={shlex.quote(value)}" for name, value in sorted(variables.items())]
    return "\n".join(["set -e", *exports, *environment.commands]) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRoute:
    """The route to packages from here."""

    #: An index that is not the default.
    index: str | None = None
    #: The CA bundle that this machine needs.
    bundle: Path | None = None
    #: The variables that name this machine's proxies, as they are spelled here.
    proxies: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> PackageRoute:
        """Read the environment variables that pip itself reads; nothing is assumed. Raises ImageError on a bad path."""
        named = next((os.environ[name] for name in _CA_VARIABLES if os.environ.get(name)), None)
        bundle = Path(named) if named else None
        if bundle is not None and not bundle.is_file():
            raise ImageError(f"the CA bundle {bundle}, which an environment variable names, is not a file")
        proxies = {name: value for name, value in os.environ.items() if name.lower() in PROXIES and value}
        return cls(index=os.environ.get("PIP_INDEX_URL") or None, bundle=bundle, proxies=proxies)

    def proxies_of_containers(self) -> dict[str, str]:
        """The proxies as a build by an engine reaches them: one on this machine's loopback is out of its reach."""
        return {name: value for name, value in self.proxies.items() if not _on_loopback(name, value)}

    def public_index(self) -> str | None:
        """The index. Raises ImageError as ``require_public`` does."""
        require_public("PIP_INDEX_URL", self.index or "", "an index")
        return self.index


def require_public(name: str, places: str, what: str) -> None:
    """Raise ImageError where a URL holds a password, which would stay in an image's history.

    ``name`` is the variable that has the URL, or several with commas or bars between them; ``what`` is what they are.
    """
    if any("@" in urlsplit(place).netloc for place in re.split(r"[,|]", places)):
        raise ImageError(
            f"{name} holds a user or password, which a build would leave in the image's history; "
            f"use {what} that asks for none, or the local runtime"
        )


def _on_loopback(name: str, value: str) -> bool:
    """Return whether a variable names a proxy at an address that means another machine in each container."""
    if name.lower() == "no_proxy":
        return False
    host = urlsplit(value if "//" in value else f"//{value}").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
