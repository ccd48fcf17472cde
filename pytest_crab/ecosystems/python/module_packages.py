"""Map modules to the distributions that provide them under another name."""

from __future__ import annotations

import sys

#: By module; names of several parts go before their first part.
BROUGHT_BY = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cairo": "pycairo",
    "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "git": "gitpython",
    "github": "pygithub",
    "gi": "pygobject",
    "google": "protobuf",
    "google.auth": "google-auth",
    "google.cloud.storage": "google-cloud-storage",
    "jose": "python-jose",
    "jwt": "pyjwt",
    "ldap": "python-ldap",
    "magic": "python-magic",
    "memcache": "python-memcached",
    "MySQLdb": "mysqlclient",
    "nacl": "pynacl",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "psycopg2": "psycopg2-binary",
    "pythonjsonlogger": "python-json-logger",
    "ruamel": "ruamel.yaml",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "snappy": "python-snappy",
    "socks": "pysocks",
    "usb": "pyusb",
    "win32api": "pywin32",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}

_SPECIAL = {"__main__", "six.moves", "distutils", "setuptools"}


def distribution_of(module: str) -> str | None:
    """Return the distribution to try for a missing module; None for a module of Python or of no distribution."""
    parts = module.split(".")
    if parts[0] in sys.stdlib_module_names or parts[0].startswith("_") or module in _SPECIAL:
        return None
    for end in range(len(parts), 0, -1):
        found = BROUGHT_BY.get(".".join(parts[:end]))
        if found:
            return found
    return parts[0].replace("_", "-").lower()
