"""A forge for tests: pull requests and their comments as the REST APIs of GitHub and GitLab have them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode


class ForgeAnswer(NamedTuple):
    """An answer: its status, its JSON, and its headers."""

    status: int
    data: Any = None
    headers: Mapping[str, str] = {}


@dataclass(kw_only=True)
class Note:
    """A comment: who wrote it, and how often it was changed since."""

    id: int
    login: str
    body: str
    edits: int = 0


@dataclass(kw_only=True)
class ScriptedForge:
    """One pull request, number 7 of ``project``, on a server of this process; a context manager.

    ``accounts`` are logins by token; a login that ends in [bot] cannot ask for its own name, as in GitHub Actions.
    ``script`` is answered before anything else, one answer for each request, then ``documents`` by path; lists come in
    pages of ``page`` rows. ``requests`` are those that arrived, as in ``POST /repos/owner/name/issues/7/comments``.
    """

    project: str = "owner/name"
    state: str = "open"
    accounts: dict[str, str] = field(default_factory=lambda: {"ghs_job_token_1": "github-actions[bot]"})
    readers: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    script: list[ForgeAnswer] = field(default_factory=list)
    documents: dict[str, Any] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    page: int = 100
    url: str = ""
    _made: int = 0

    def __enter__(self) -> ScriptedForge:  # noqa: PYI034 - Self is later than CPython 3.10
        forge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                forge._serve(self)

            do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815 - names of the library

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def write(self, login: str, body: str) -> Note:
        """Write a comment without a request."""
        self._made += 1
        note = Note(id=self._made, login=login, body=body)
        self.notes.append(note)
        return note

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        size = int(handler.headers.get("content-length") or 0)
        body = json.loads(handler.rfile.read(size) or b"null")
        path, _, query = handler.path.partition("?")
        self.requests.append(f"{handler.command} {path}")
        if self.script:
            answer = self.script.pop(0)
        elif path in self.documents:
            answer = self._page_of(path, query, self.documents[path])
        else:
            answer = self._answer(handler, path, query, body)
        content = b"" if answer.data is None else json.dumps(answer.data).encode()
        handler.send_response(answer.status)
        for name, value in {"content-type": "application/json", **answer.headers}.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _answer(self, handler: BaseHTTPRequestHandler, path: str, query: str, body: Any) -> ForgeAnswer:
        token = handler.headers.get("private-token") or handler.headers.get("authorization", "").split(" ")[-1]
        login = self.accounts.get(token)
        if login is None:
            return ForgeAnswer(401, {"message": "Bad credentials"})
        asks_for_a_bot = path.endswith("/user") and login.endswith("[bot]")
        if asks_for_a_bot or (handler.command != "GET" and token in self.readers):
            return ForgeAnswer(403, {"message": "Resource not accessible by integration"})
        if path in ("/user", "/api/v4/user"):
            return ForgeAnswer(200, self._user(login))
        request = "/api/v4/projects/1/merge_requests/7"
        path = path.replace(f"/projects/{self.project.replace('/', '%2F')}/", "/projects/1/")
        if path in (f"/repos/{self.project}/pulls/7", request):
            return ForgeAnswer(200, self._pull(on_gitlab=path == request))
        if path in (f"/repos/{self.project}/issues/7/comments", f"{request}/notes"):
            return self._comments(handler.command, login, path, query, body)
        return self._comment(handler.command, path, body)

    def _comments(self, command: str, login: str, path: str, query: str, body: Any) -> ForgeAnswer:
        if command == "POST":
            return ForgeAnswer(201, self._note_record(self.write(login, body["body"])))
        return self._page_of(path, query, list(map(self._note_record, self.notes)))

    def _comment(self, command: str, path: str, body: Any) -> ForgeAnswer:
        found = re.fullmatch(r".*/(?:issues/comments|notes)/(\d+)", path)
        note = next((one for one in self.notes if found and one.id == int(found[1])), None)
        if note is None:
            return ForgeAnswer(404, {"message": "Not Found"})
        if command == "DELETE":
            self.notes.remove(note)
            return ForgeAnswer(204)
        note.body, note.edits = body["body"], note.edits + 1
        return ForgeAnswer(200, self._note_record(note))

    def _page_of(self, path: str, query: str, found: Any) -> ForgeAnswer:
        """Answer with the page of a list that is asked for, and with where the next one is, as both forges do."""
        if not isinstance(found, list):
            return ForgeAnswer(200, found)
        asked = dict(parse_qsl(query))
        page = int(asked.get("page", 1))
        more = urlencode({**asked, "page": page + 1})
        is_last = page * self.page >= len(found)
        headers = {} if is_last else {"link": f'<{self.url}{path}?{more}>; rel="next"', "x-next-page": str(page + 1)}
        return ForgeAnswer(200, found[(page - 1) * self.page : page * self.page], headers)

    def _pull(self, *, on_gitlab: bool) -> dict[str, Any]:
        state = "opened" if on_gitlab and self.state == "open" else self.state
        api = f"{self.url}/repos/{self.project}"
        web = f"{self.url}/{self.project}/-/merge_requests/7" if on_gitlab else f"{self.url}/{self.project}/pull/7"
        return {
            "url": f"{api}/pulls/7", "issue_url": f"{api}/issues/7", "number": 7, "iid": 7, "project_id": 1,
            "state": state, "web_url": web, "html_url": web,
        }  # fmt: skip

    def _note_record(self, note: Note) -> dict[str, Any]:
        return {
            "id": note.id,
            "url": f"{self.url}/repos/{self.project}/issues/comments/{note.id}",
            "html_url": f"{self.url}/{self.project}/pull/7#issuecomment-{note.id}",
            "body": note.body,
            "user": self._user(note.login),
            "author": self._user(note.login),
        }

    def _user(self, login: str) -> dict[str, Any]:
        known = sum(login.encode())
        return {"login": login, "id": known, "type": "Bot" if login.endswith("[bot]") else "User"}
