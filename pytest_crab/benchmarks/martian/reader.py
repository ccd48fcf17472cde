"""Martian's code review benchmark: known issues, candidate comments of every tool, and what each judge found in them.

Each judge's model took the candidates out of a tool's review in its own words, so the candidates of two judges differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances.archives import digest_of, load, reading
from pytest_crab.scoring.stored_reviews import KnownComment, StoredReview
from pytest_crab.types import Finding, Judgement, Reason, Score, verdict_score

#: The folder of known issues, and that of judgements: as a checkout has it, or under the name of its files.
_GOLDEN, _JUDGED = "golden_comments", ("results", "evaluations")

#: The labels of pull requests, beside the judgements or the known issues.
_LABELS = "pr_labels.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class MartianPull:
    """A pull request with its known issues."""

    #: The name of the file that has it.
    project: str
    title: str
    issues: tuple[KnownComment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MartianResult:
    """The judgement of one review."""

    #: For each known issue the candidate that matches it, None where none does.
    matched: tuple[str | None, ...]
    #: The number of candidates that match none.
    incorrect: int
    #: All of them.
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MartianRelease:
    """A release: its pull requests and results."""

    #: The version of the known issues, by count and digest.
    golden: str
    #: By their address.
    pulls: Mapping[str, MartianPull]
    #: By judge, tool and pull request.
    judged: Mapping[str, Mapping[str, Mapping[str, MartianResult]]]
    #: Those of pull requests, by dimension; empty where the release has none.
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def has_martian(folder: Path) -> bool:
    """Return True if ``read_martian`` reads the folder."""
    return (folder / _GOLDEN).exists()


def read_martian(folder: Path) -> MartianRelease:
    """Read a release. Raises BadInput for a file of another shape, and for judgements on other known issues."""
    with reading(folder):
        files = sorted((folder / _GOLDEN).glob("*.json"))
        pulls = {pull["url"]: _pull(path.stem, pull) for path in files for pull in load(path)}
        issues = sum(len(pull.issues) for pull in pulls.values())
        found = (sorted((folder / name).glob("*/evaluations.json")) for name in _JUDGED)
        judgements = next(filter(None, found), None)
        if judgements is None:
            raise BadInput(
                str(folder), [f"it has {_GOLDEN} and no {_JUDGED[0]}/<judge>/evaluations.json; fetch it again"]
            )
        return MartianRelease(
            golden=f"{issues} known issues, sha256 {digest_of(files)}",
            pulls=pulls,
            judged={path.parent.name: _results(path, pulls) for path in judgements},
            labels=_labels(judgements[0].parents[1] / _LABELS) or _labels(folder / _LABELS),
        )


def _labels(path: Path) -> dict[str, dict[str, str]]:
    """Return the labels of pull requests in a file; none where it is not there."""
    found = load(path) if path.is_file() else {}
    return {
        url: {
            "language": str(own["derived"]["language"]),
            "size": str(own["llm_pr_labels"]["pr_size_category"]),
            "domain": str(own["llm_pr_labels"]["domain"]),
        }
        for url, own in found.items()
    }


def martian_reviews(release: MartianRelease) -> Iterator[StoredReview]:
    """Yield every tool's review of every pull request, scored by every judge.

    Its findings are the candidates in the words of the first judge, so a match by another judge names no finding.
    """
    first = next(iter(release.judged), "")
    for tool in sorted({tool for by_tool in release.judged.values() for tool in by_tool}):
        for url, pull in release.pulls.items():
            own = {
                judge: by_tool[tool][url] for judge, by_tool in release.judged.items() if url in by_tool.get(tool, ())
            }
            texts = own[first].candidates if first in own else ()
            places = {text: at for at, text in enumerate(texts)}
            yield StoredReview(
                reviewer=tool,
                instance=_instance(url),
                repo=pull.project,
                pull_request=serialization.digest(url),
                comments=pull.issues,
                findings=tuple(Finding(body=text, path=None) for text in texts) if first in own else None,
                title=pull.title,
                url=url,
                scores=tuple(
                    _score(judge, number, text, places if judge == first else {})
                    for judge, result in own.items()
                    for number, text in enumerate(result.matched)
                ),
            )


def _pull(project: str, pull: Mapping[str, Any]) -> MartianPull:
    issues = tuple(
        KnownComment(body=str(one["comment"]), labels={"severity": str(one["severity"]), "repo": project})
        for one in pull["comments"]
    )
    return MartianPull(project=project, title=str(pull["pr_title"]), issues=issues)


def _results(path: Path, pulls: Mapping[str, MartianPull]) -> dict[str, dict[str, MartianResult]]:
    found: dict[str, dict[str, MartianResult]] = {}
    listed = load(path.with_name("candidates.json")) if path.with_name("candidates.json").exists() else {}
    for url, by_tool in load(path).items():
        for tool, result in by_tool.items():
            candidates = [one["text"] for one in listed.get(url, {}).get(tool, ())]
            found.setdefault(tool, {})[url] = _result(path, url, pulls, result, candidates)
    return dict(sorted(found.items()))


def _result(
    path: Path, url: str, pulls: Mapping[str, MartianPull], result: Mapping[str, Any], candidates: Iterable[str]
) -> MartianResult:
    golden = [issue.body for issue in pulls[url].issues] if url in pulls else []
    hits = [(one["golden_comment"], one["matched_candidate"]) for one in result["true_positives"]]
    others = [one["candidate"] for one in result["false_positives"]]
    judged = [text for text, _ in hits] + [one["golden_comment"] for one in result["false_negatives"]]
    if sorted(judged) != sorted(map(str, golden)):
        counts = f"of {url} it judged {len(judged)} known issues, and {_GOLDEN} has {len(golden)}, or others"
        raise BadInput(str(path), [f"{counts}; take both from one version of the release"])
    matched: list[str | None] = []
    for text in golden:
        at = next((at for at, (issue, _) in enumerate(hits) if issue == text), None)
        matched.append(None if at is None else hits.pop(at)[1])
    every = (*candidates, *(text for text in matched if text is not None), *others)
    return MartianResult(matched=tuple(matched), incorrect=len(others), candidates=tuple(dict.fromkeys(every)))


def _score(judge: str, number: int, matched: str | None, places: Mapping[str, int]) -> Score:
    judgement = Judgement(reason=Reason.NO_HIT if matched is None else Reason.HIT, detail=matched)
    evidence = {"finding": places[matched]} if matched is not None and matched in places else {}
    return verdict_score(judge, f"c{number}", judgement, evidence)


def _instance(url: str) -> str:
    """Return the name of a pull request, as owner__name-number. Raises ValueError."""
    match = re.fullmatch(r"https://[^/]+/([\w.-]+)/([\w.-]+)/pull/(\d+)", url)
    if match is None:
        raise ValueError(f"{url} is no address of a pull request")
    return f"{match[1]}__{match[2]}-{match[3]}"
