"""Which forge an address is of, and who gets a token."""

from __future__ import annotations

import pytest

from pytest_crab.cli.candidate_sources import open_forge


@pytest.mark.parametrize(
    ("named", "token"),
    [
        ("owner/shop", "hub"),
        ("https://github.com/owner/shop", "hub"),
        ("https://hub.example/owner/shop", "hub"),
        ("https://other.example/owner/shop", None),
        ("http://hub.example/owner/shop", None),
        ("https://gitlab.com/owner/shop", "lab"),
        ("https://lab.example/owner/shop", "lab"),
        ("https://gitlab.example/owner/shop", None),
    ],
)
def test_a_token_goes_to_its_own_servers_alone(named: str, token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"GITHUB_TOKEN": "hub", "GITLAB_TOKEN": "lab"}
    servers = {"GITHUB_SERVER_URL": "https://hub.example", "CI_SERVER_URL": "https://lab.example"}
    for name, value in {**names, **servers}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GH_TOKEN", raising=False)
    forge = open_forge(named)
    assert forge is not None
    assert forge.token == token
    assert (open_forge(named, known=True) is None) == (token is None)
