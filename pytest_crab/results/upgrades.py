"""Older records as the present schema: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_crab.types import PASS_TO_PASS, SCHEMA, TRIAL_SCHEMA

_DIMENSIONS = ("category", "kind")
_PLACE = ("path", "lines", "side", "resolvable")
_VALUES = {"caught": 1.0, "missed": 0.0}

#: Names that fields of records had in version 0.1, with those that they have now.
_RENAMED = {"arm": "variant", "damage": "regressions"}


def upgraded_trial(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a trial record with comments and scores for the results of schema 1, and one usage for each scorer.

    Fields that had another name get the present one. Data of another shape comes back as it is, so that the reader
    names its faults.
    """
    return _with_usages(_with_scores(value))


def _with_scores(value: Mapping[str, Any]) -> Mapping[str, Any]:
    results = value.get("results")
    entries = [entry for entry in results if isinstance(entry, Mapping)] if isinstance(results, list) else []
    if value.get("schema", 1) != 1 or not isinstance(results, list) or len(entries) < len(results):
        return _rename_fields(value)
    known = {name: item for name, item in _rename_fields(value).items() if name not in ("results", "regressions")}
    scores = [_score(entry) for entry in entries]
    if isinstance(value.get("damage"), bool):
        scores.append(_regressions(broken=value["damage"]))
    return {**known, "schema": TRIAL_SCHEMA, "comments": [_comment(entry) for entry in entries], "scores": scores}


def _with_usages(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with a usage for each scorer: all answers had one together, a judge's votes one as a score."""
    scores, scoring = value.get("scores"), value.get("scoring")
    entries = scores if isinstance(scores, list) else []
    votes = [one for one in entries if isinstance(one, Mapping) and _holds_votes(one)]
    together = isinstance(scoring, Mapping) and bool(scoring) and not any(map(_is_mapping, scoring.values()))
    if not votes and not together:
        return value
    answers = sum(_is_mapping(one) and one.get("scorer") == "choices" for one in entries)
    found = {"choices": {"answers": answers, "usage": scoring}} if together else {**(scoring or {})}
    calibrations = {}
    for one in votes:
        evidence = one["evidence"]
        found[one["scorer"]] = {"answers": evidence.get("votes", 0), "usage": evidence.get("usage"), "judge": True}
        calibrations[one["scorer"]] = evidence.get("calibration")
    versions = {**value.get("versions", {}), **({"calibrations": calibrations} if calibrations else {})}
    return {**value, "scores": [one for one in entries if one not in votes], "scoring": found, "versions": versions}


def _holds_votes(score: Mapping[str, Any]) -> bool:
    about = (score.get("unit"), score.get("subject"))
    return about == ("trial", "usage") and _is_mapping(score.get("evidence")) and isinstance(score.get("scorer"), str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def upgraded_summary(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a summary of schema 1 with rates and oracles by label, where it has them by category and kind."""
    reviewers = value.get("reviewers")
    if value.get("schema", SCHEMA) != SCHEMA or not isinstance(reviewers, list):
        return value
    found = {**value, "reviewers": [_reviewer(own) if isinstance(own, Mapping) else own for own in reviewers]}
    mediators = value.get("mediators")
    if isinstance(mediators, Mapping) and isinstance(mediators.get("agents"), list):
        found["mediators"] = {**mediators, "agents": [_agent(own) for own in mediators["agents"]]}
    return found


def upgraded_subject(value: Any) -> Any:
    """Return an instance's file of an older report with the labels of its comments by dimension."""
    comments = value.get("comments") if isinstance(value, Mapping) else None
    if not isinstance(comments, list):
        return value
    return {**value, "comments": [_with_labels(one) if isinstance(one, Mapping) else one for one in comments]}


def _comment(entry: Mapping[str, Any]) -> dict[str, Any]:
    labels = {name: entry[name] for name in _DIMENSIONS if name in entry}
    return {"id": entry.get("comment"), "labels": labels, **{name: entry[name] for name in _PLACE if name in entry}}


def _score(entry: Mapping[str, Any]) -> dict[str, Any]:
    verdict = entry.get("verdict")
    labelled = {"label": verdict, "value": _VALUES[verdict]} if verdict in _VALUES else {}
    return {
        "scorer": "oracles",
        "unit": "comment",
        "subject": entry.get("comment"),
        **labelled,
        "reason": entry.get("reason"),
        "detail": entry.get("detail"),
        "evidence": {name: entry[name] for name in ("tests", "flake_bound") if name in entry},
    }


def _regressions(*, broken: bool) -> dict[str, Any]:
    label, reason = ("broken", "test failed") if broken else ("intact", "green")
    about = {"scorer": "oracles", "unit": "trial", "subject": PASS_TO_PASS}
    return {**about, "label": label, "value": float(broken), "reason": reason}


def _reviewer(own: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: item for name, item in _rename_fields(own).items() if name not in ("by_category", "by_kind")}
    if isinstance(known.get("regressions"), Mapping):
        known["regressions"] = _rename_fields(known["regressions"], {"damaged": "broken"})
    by_label = {name: own[f"by_{name}"] for name in _DIMENSIONS if f"by_{name}" in own}
    if by_label:
        known["by_label"] = by_label
    if isinstance(own.get("oracles"), list):
        known["oracles"] = [_with_labels(one) if isinstance(one, Mapping) else one for one in own["oracles"]]
    return known


def _agent(own: Any) -> Any:
    if isinstance(own, Mapping) and isinstance(own.get("human"), Mapping):
        return {**own, "human": _rename_fields(own["human"], {"caught": "part"})}
    return own


def _rename_fields(value: Mapping[str, Any], names: Mapping[str, str] = _RENAMED) -> dict[str, Any]:
    """Return the fields under their present names; an old name beside the new one stays, and the reader names it."""
    return {name if names.get(name, name) in value else names.get(name, name): item for name, item in value.items()}


def _with_labels(one: Mapping[str, Any]) -> dict[str, Any]:
    labels = {name: one[name] for name in _DIMENSIONS if name in one}
    known = {name: item for name, item in one.items() if name not in labels}
    return {**known, "labels": labels} if labels else known
