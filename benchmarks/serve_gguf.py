"""A model of real weights on this machine: OpenAI's completions with the log-probabilities of the prompt, on loopback.

    python benchmarks/serve_gguf.py model.gguf [--port 8321] [--context 4096] [--threads 2]

It needs llama-cpp-python, whose own server gives each token of an echoed prompt the log-probability of the token after
it. One request is answered at a time. The address is 127.0.0.1 and there is no key, so it is for measurements alone.
"""

from __future__ import annotations

import argparse
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy
from llama_cpp import Llama


class Model:
    """The weights; the part of a prompt that the last one had too is not computed again."""

    def __init__(self, path: str, context: int, threads: int) -> None:
        self._llama = Llama(model_path=path, n_ctx=context, n_threads=threads, logits_all=True, verbose=False)
        self._guard = threading.Lock()

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer a request for one token. Raises ValueError for a prompt that is too long or empty."""
        prompt, count = str(body["prompt"]), min(int(body.get("logprobs") or 0), 20)
        with self._guard:
            tokens = self._llama.tokenize(prompt.encode(), add_bos=False, special=False)
            if not 0 < len(tokens) < self._llama.n_ctx():
                raise ValueError(f"the prompt has {len(tokens)} tokens; 1 to {self._llama.n_ctx() - 1} are taken")
            rows = self._log_probabilities(tokens)
            words = [self._llama.detokenize([token], special=True).decode("utf-8", "replace") for token in tokens]
            written = int(numpy.argmax(rows[-1]))
            text = self._llama.detokenize([written], special=True).decode("utf-8", "replace")
            tops = [self._likely(row, count) for row in rows]
        values = [float(rows[at, token]) for at, token in enumerate(tokens[1:])]
        known = {
            "tokens": [text],
            "token_logprobs": [float(rows[-1, written])],
            "top_logprobs": [tops[-1]],
        }
        if body.get("echo"):
            own = [{**top, word: value} for top, word, value in zip(tops, words[1:], values, strict=False)]
            before = {"tokens": words, "token_logprobs": [None, *values], "top_logprobs": [None, *own]}
            known = {name: [*before[name], *known[name]] for name in known}
        choice = {"index": 0, "text": (prompt if body.get("echo") else "") + text, "finish_reason": "length"}
        usage = {"prompt_tokens": len(tokens), "completion_tokens": 1, "total_tokens": len(tokens) + 1}
        choices = [{**choice, "logprobs": known if count else None}]
        return {"object": "text_completion", "model": body.get("model"), "choices": choices, "usage": usage}

    def _log_probabilities(self, tokens: list[int]) -> Any:
        """Return for each token the log-probabilities of what follows it."""
        kept = 0
        for token, before in zip(tokens[:-1], self._llama.input_ids[: self._llama.n_tokens], strict=False):
            if token != before:
                break
            kept += 1
        self._llama.n_tokens = kept
        self._llama.eval(tokens[kept:])
        scores = self._llama.scores[: len(tokens)].astype(numpy.float64)
        scores = scores - scores.max(axis=1, keepdims=True)
        return scores - numpy.log(numpy.exp(scores).sum(axis=1, keepdims=True))

    def _likely(self, row: Any, count: int) -> dict[str, float]:
        best = numpy.argsort(row)[::-1][:count]
        words = (self._llama.detokenize([int(token)], special=True).decode("utf-8", "replace") for token in best)
        found: dict[str, float] = {}
        for word, token in zip(words, best, strict=True):  # of tokens that look alike the likelier one counts
            found.setdefault(word, float(row[token]))
        return found


def main() -> None:
    """Serve until the process ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--port", type=int, default=8321)
    parser.add_argument("--context", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    model = Model(arguments.model, arguments.context, arguments.threads)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            try:
                status, answer = 200, model.complete(json.loads(body))
                if not self.path.endswith("/completions") or self.path.endswith("/chat/completions"):
                    status, answer = 404, {"error": {"message": f"{self.path} is not served; /v1/completions is"}}
            except (ValueError, KeyError) as error:
                status, answer = 400, {"error": {"message": str(error)}}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Write no line for each request."""

    with ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
