"""PR-Agent as a reviewer: its review of the diff, out of the JSON file that it writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pytest_crab.clients.client_run import ClientSettings, Session, ending
from pytest_crab.clients.prompting import shown_diff
from pytest_crab.commands import CommandPlace
from pytest_crab.protocols import Checkout, Completed
from pytest_crab.text import output_lines
from pytest_crab.types import PullRequest, Review

#: Its home is not the tree, whose .pr_agent.toml it would otherwise read.
_LAUNCH = 'cd "$HOME" && cat > pull-request.diff && exec "$@"'
#: A line of its log, up to the place in its own source, whose number would be taken for a status.
_ERROR = re.compile(r"\|\s*ERROR\s*\|.* - ")
_READ = 'cat "$1/review.json" 2>/dev/null || true'


@dataclass(frozen=True, slots=True, kw_only=True)
class PrAgentReviewer(ClientSettings):
    """Runs ``pr-agent review`` on the diff alone, with a provider that speaks OpenAI's chat/completions.

    ``prompt`` is a file of extra instructions.
    """

    client: ClassVar[str] = "pr-agent"
    role: ClassVar[str] = "reviewer"

    provider: str = "openai"
    place: CommandPlace = field(default=CommandPlace.CLONE, metadata={"key": "in"})
    #: Settings of pr-agent's own by their dotted names.
    config: Mapping[str, str] = field(default_factory=dict)
    #: The model's window in tokens, for models that pr-agent does not know.
    context: int = 128_000

    def instructions(self) -> str:
        """Return the extra instructions; none without ``prompt``."""
        return super(PrAgentReviewer, self).instructions() if self.prompt else ""

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Run PR-Agent. Raises ReviewerError, GatewayError, Cancelled, EngineError."""
        with self.session(checkout) as session:
            argv = [session.program, "--diff-file", "pull-request.diff", "--output", "review.md"]
            argv += ["--json-output", "review.json", *self.args, "review"]
            diff = shown_diff(pull_request.diff, note=False)
            completed = session.run(["sh", "-c", _LAUNCH, "sh", *argv], env=self._variables(session), stdin=diff)
            report = b"" if completed.timed_out else session.read(_READ, session.home) or b""
            session.keep({"stdout": completed.stdout, "stderr": completed.stderr, "review": report})
            answer = _read(report)
            session.judge(facts(completed, report, answer))
            assert answer is not None
            return session.review(list(_findings(answer)), pull_request)

    def _variables(self, session: Session) -> dict[str, str]:
        own = {"config.model": f"openai/{self.model}"} if self.model else {}
        more = {"pr_reviewer.extra_instructions": self.instructions()} if self.prompt else {}
        config = {
            "config.fallback_models": "[]",
            "config.custom_model_max_tokens": str(self.context),
            "config.ai_timeout": str(int(self.timeout)),
            "openai.key": session.token,
            "openai.api_base": f"{session.base}/v1",
            **own,
            **more,
            **self.config,
        }
        variables = {name.upper().replace(".", "__"): value for name, value in config.items()}
        variables |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LOG_LEVEL": "ERROR", "NO_COLOR": "1"}
        variables |= {"PYTHON_DOTENV_DISABLED": "1", "PYTHONSAFEPATH": "1"}
        # Without this it asks the network for the tables of its tokenizer; litellm ships them.
        tables = sorted(
            session.installed.trees[0].glob("lib/python3*/site-packages/litellm/litellm_core_utils/tokenizers")
        )
        return variables | ({"TIKTOKEN_CACHE_DIR": str(tables[0])} if tables else {})


def _read(report: bytes) -> Mapping[str, Any] | None:
    """The part of its JSON file that is the review; None if it is not there."""
    try:
        answer = json.loads(report)["review"]
    except (ValueError, TypeError, KeyError):
        return None
    return answer if isinstance(answer, dict) else None


def facts(completed: Completed, report: bytes, answer: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the facts for the status table; the exit code is 0 whatever happens."""
    lines = output_lines((completed.stdout + b"\n" + completed.stderr).decode(errors="replace"))
    plain = [line.strip() for line in lines]
    told = [line.partition(" - ")[2] for line in plain if _ERROR.search(line)] or [line for line in plain if line]
    form = "no" if not report.strip() else ("bad" if answer is None else "yes")
    words = "" if answer or not told else told[-1]
    return {"ending": ending(completed), "json": form, "log": "\n".join(told), "words": words}


def _findings(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Its key issues, and what it says about security if it says anything."""
    for issue in answer.get("key_issues_to_review") or ():
        if isinstance(issue, dict):
            yield {
                "path": str(issue.get("relevant_file") or "").strip(),
                "start": issue.get("start_line"),
                "end": issue.get("end_line"),
                "title": str(issue.get("issue_header") or "").strip(),
                "body": str(issue.get("issue_content") or "").strip(),
            }
    security = str(answer.get("security_concerns") or "").strip()
    if security and security.lower().rstrip(".") not in ("no", "none", "false"):
        yield {"title": "Security concerns", "body": security}
