"""A model of real weights on this machine: OpenAI's completions with log-probabilities, and embeddings, on loopback.

    python bench/serve_gguf.py model.gguf [--port 8321] [--context 4096] [--threads 2]

It needs llama-cpp-python, whose own server gives each token of an echoed prompt the log-probability of the token after
it. One request is answered at a time. The address is 127.0.0.1 and there is no key, so it is for measurements alone.
"""

from __future__ import annotations

import argparse
import functools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy
from llama_cpp import LLAMA_POOLING_TYPE_MEAN, Llama


class Model:
    """The weights; the part of a prompt that the last one had too is not computed again."""

    def __init__(self, path: str, context: int, threads: int) -> None:
        self._load = functools.partial(Llama, model_path=path, n_ctx=context, n_threads=threads, verbose=False)
        self._llama = self._load(logits_all=True)
        self._embedder: Llama | None = None
        self._guard = threading.Lock()

    def embed(self, body: dict[str, Any]) -> Any:
        """Answer a request for embeddings: the mean of the model's last layer over the tokens of each text."""
        with self._guard:
            self._embedder = self._embedder or self._load(embedding=True, pooling_type=LLAMA_POOLING_TYPE_MEAN)
            return self._embedder.create_embedding(body["input"])

    def complete(self, body: dict[str, Any]) -> Any:
        """Answer a request, one token for log-probabilities. Raises ValueError for a prompt of a wrong length."""
        prompt, count = str(body["prompt"]), min(int(body.get("logprobs") or 0), 20)
        with self._guard:
            if not count:
                taken = ("suffix", "max_tokens", "temperature", "seed", "stop")
                return self._llama.create_completion(prompt, **{name: body[name] for name in taken if name in body})
            tokens = self._llama.tokenize(prompt.encode(), add_bos=False, special=False)
            if not 0 < len(tokens) < self._llama.n_ctx():
                raise ValueError(f"the prompt has {len(tokens)} tokens; 1 to {self._llama.n_ctx() - 1} are taken")
            rows = self._log_probabilities(tokens, 0 if body.get("echo") else len(tokens) - 1)
            words = [self._llama.detokenize([token], special=True).decode("utf-8", "replace") for token in tokens]
            written = int(numpy.argmax(rows[-1]))
            text = self._llama.detokenize([written], special=True).decode("utf-8", "replace")
            tops = [self._likely(row, count) for row in rows]
        known = {
            "tokens": [text],
            "token_logprobs": [float(rows[-1, written])],
            "top_logprobs": [tops[-1]],
        }
        if body.get("echo"):
            values = [float(rows[at, token]) for at, token in enumerate(tokens[1:])]
            own = [{**top, word: value} for top, word, value in zip(tops, words[1:], values, strict=False)]
            before = {"tokens": words, "token_logprobs": [None, *values], "top_logprobs": [None, *own]}
            known = {name: [*before[name], *known[name]] for name in known}
        choice = {"index": 0, "text": (prompt if body.get("echo") else "") + text, "finish_reason": "length"}
        usage = {"prompt_tokens": len(tokens), "completion_tokens": 1, "total_tokens": len(tokens) + 1}
        choices = [{**choice, "logprobs": known}]
        return {"object": "text_completion", "model": body.get("model"), "choices": choices, "usage": usage}

    def _log_probabilities(self, tokens: list[int], first: int) -> Any:
        """Return for each token from the ``first`` on the log-probabilities of what follows it."""
        kept = 0
        for token, before in zip(tokens[:-1], self._llama.input_ids[: self._llama.n_tokens], strict=False):
            if token != before:
                break
            kept += 1
        self._llama.n_tokens = kept
        self._llama.eval(tokens[kept:])
        scores = self._llama.scores[first : len(tokens)].astype(numpy.float64)
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
                served = {"/v1/completions": model.complete, "/v1/embeddings": model.embed}
                status, answer = 404, {"error": {"message": f"{self.path} is not served; {' and '.join(served)} are"}}
                if self.path in served:
                    status, answer = 200, served[self.path](json.loads(body))
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
