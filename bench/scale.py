"""What a run of 10,000 instances, 5 reviewers and 3 repeats takes on 1 to 256 workers: a model, not a measurement.

Trials are played through event by event (scale_model): workers are given trials as pytest-crab gives them, build or
pull the image of an instance once each, prove it once, and let every trial review, revise and examine; engine slots,
the registry and the providers' rate limits are queues. Costs are the defaults, or drawn from the records of a real run
(``--records trials.jsonl``). With ``--held-against`` two such files, of a run with one job and of one with two, the
second is predicted from the first.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import costs
from scale_model import ACTIVITIES, DEFAULT, Model, Sample, Setting, spread

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def from_records(path: Path, megabytes: float = 0.0) -> list[Sample]:
    """A sample for each trial of a run's trials.jsonl that made all of its steps itself. Raises OSError, ValueError.

    What an image fetched is on no record, so it is ``megabytes`` for all.
    """
    found = []
    for line in path.read_bytes().splitlines():
        trial = json.loads(line)
        steps = _own_seconds(trial["steps"])
        if {"proof", "review"} <= set(steps):
            found.append(_sample(trial, steps, megabytes))
    if not found:
        raise ValueError(f"{path} holds no trial that proved its oracles and asked its reviewer; use a fresh store")
    return found


def _own_seconds(steps: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Seconds by step, without those of the fetch and the image that a step waited for, which stand before it."""
    own: dict[str, float] = {}
    inside = 0.0
    for step in steps:
        if step["step"] in ("fetch", "image"):
            inside += step["seconds"]
            own[step["step"]] = step["seconds"]
            continue
        if not step["reused"]:
            own[step["step"]] = own.get(step["step"], 0.0) + max(step["seconds"] - inside, 0.0)
        inside = 0.0
    return own


def _sample(trial: dict[str, Any], steps: dict[str, float], megabytes: float) -> Sample:
    usages = [(trial.get(part) or {}).get("usage") or {} for part in ("review", "revision")]
    total = {name: sum(usage.get(name) or 0 for usage in usages) for name in ("requests", "cost_usd")}
    tokens = sum((usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0) for usage in usages)
    return Sample(
        image=steps.get("image", 0.0) + steps.get("fetch", 0.0),
        megabytes=megabytes,
        proof=steps.get("proof", 0.0),
        review=steps.get("review", 0.0),
        revision=steps.get("revision", 0.0),
        examine=steps.get("verdict", 0.0),
        requests=total["requests"],
        tokens=tokens,
        usd=total["cost_usd"],
    )


def check() -> None:
    """Hold the model against what must be so. Raises AssertionError."""
    free = Setting(instances=40, reviewers=2, repeats=2, jobs=1, slots=1, requests=math.inf, tokens=math.inf)
    free = dataclasses.replace(free, registry=math.inf, link=math.inf, head=math.inf, worker_usd=0.0)
    one = Model(free, [DEFAULT], 1).run()
    once, each = DEFAULT.image + DEFAULT.proof, DEFAULT.review + DEFAULT.revision + DEFAULT.examine
    assert math.isclose(one.wall, 40 * once + 160 * each), "one lane takes the sum of all steps"
    assert math.isclose(one.usd, 160 * DEFAULT.usd), "every trial is paid for once"
    four = Model(free, [DEFAULT], 4).run()
    assert math.isclose(four.wall, one.wall / 4), "four workers without limits take a quarter"
    cases = {
        "requests": dataclasses.replace(free, requests=2.0),
        "tokens": dataclasses.replace(free, tokens=40_000.0),
        "registry": dataclasses.replace(free, registry=0.05),
        "engine slots": dataclasses.replace(free, jobs=8),
        "head": dataclasses.replace(free, head=0.005),
    }
    slow = dataclasses.replace(DEFAULT, proof=2000.0, examine=900.0)
    for name, setting in cases.items():
        played = Model(setting, [slow if name == "engine slots" else DEFAULT], 2).run()
        bounds = played.bounds()
        assert max(bounds, key=bounds.__getitem__) == name, f"{name} binds where it is scarce"
        assert bounds[name] <= played.wall <= 1.1 * bounds[name] + 5 * (2000 + each), f"{name} decides the wall time"
    played = Model(dataclasses.replace(free, jobs=4), spread(DEFAULT), 3, seed=7).run()
    assert played.wall >= max(played.bounds().values()), "no run is faster than a limit allows"
    again = Model(dataclasses.replace(free, jobs=4), spread(DEFAULT), 3, seed=7).run()
    assert again.wall == played.wall, "the same seed gives the same run"
    assert math.isclose(sum(played.spent.values()), played.wall * 12), "every second of every lane is accounted for"
    far, near = (Model(dataclasses.replace(free, ahead=ahead), spread(DEFAULT), 4).run() for ahead in (64, 1))
    assert near.spent["order"] > far.spent["order"] == 0, "lanes wait for the order where the window is small"
    assert near.wall > far.wall, "and that takes time"
    assert one.builds == four.builds == 1, "an instance stays with its worker"


def table(setting: Setting, samples: Sequence[Sample], workers: Sequence[int], seed: int) -> Iterator[str]:
    """Yield the table, a line for each number of workers."""
    yield "| workers | wall | " + " | ".join(ACTIVITIES) + " | builds | USD | binds | its share of the wall |"
    yield "|---" * (len(ACTIVITIES) + 6) + "|"
    for count in workers:
        played = Model(setting, samples, count, seed=seed).run()
        lanes = played.lanes * played.wall
        shares = " | ".join(f"{100 * played.spent[name] / lanes:.1f}%" for name in ACTIVITIES)
        bounds = played.bounds()
        binding = max(bounds, key=bounds.__getitem__)
        share = f"{100 * bounds[binding] / played.wall:.0f}%"
        builds = f"{played.builds:.2f}"
        yield f"| {count} | {in_words(played.wall)} | {shares} | {builds} | {played.usd:,.0f} | {binding} | {share} |"


def in_words(seconds: float) -> str:
    """Days, hours or minutes."""
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.1f} d"
    return f"{seconds / 3600:.1f} h" if seconds >= 7200 else f"{seconds / 60:.1f} min"


def held_against(one: Path, two: Path, seen: Sequence[float]) -> Iterator[str]:
    """Yield what the model makes of runs with one job and with two, of the first one's steps, and what was seen."""
    samples = from_records(one)
    quiet = Setting(instances=len(samples), reviewers=1, repeats=1, requests=math.inf, tokens=math.inf)
    quiet = dataclasses.replace(quiet, registry=math.inf, link=math.inf, head=math.inf)
    for jobs, path, wall in zip((1, 2), (one, two), seen, strict=True):
        said = Model(dataclasses.replace(quiet, jobs=jobs), samples, 1, trace=True).run().wall
        own = Model(dataclasses.replace(quiet, jobs=jobs), from_records(path), 1, trace=True).run().wall
        yield (
            f"{jobs} at a time: {said:.1f} s predicted from the run with one, {own:.1f} s from its own steps, "
            f"{wall:.1f} s seen ({100 * (said / wall - 1):+.0f}%, {100 * (own / wall - 1):+.0f}%)"
        )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, help="draw what trials cost from this trials.jsonl")
    parser.add_argument("--costs", type=Path, help="what image, proof and verdict cost, as steps.py wrote it")
    for each in dataclasses.fields(Setting):
        kind = int if isinstance(each.default, int) else float
        read = costs.number(kind, zero=each.name in costs.MAY_BE_ZERO)
        flag = f"--{each.name.replace('_', '-')}"
        parser.add_argument(flag, type=read, default=each.default, metavar="N", help=costs.HELP.get(each.name))
    parser.add_argument("--workers", type=costs.number(int), nargs="+", default=WORKERS, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-against", type=Path, nargs=2, metavar=("ONE", "TWO"))
    parser.add_argument(
        "--seen", type=costs.number(float), nargs=2, metavar="SECONDS", help="how long those two runs took"
    )
    return parser.parse_args()


def main() -> int:
    """Check the model, then print the table or the comparison."""
    asked = arguments()
    if asked.held_against:
        if not asked.seen:
            sys.exit("--held-against needs --seen: the seconds that the two runs took")
        for path in asked.held_against:
            costs.given(path, from_records)
        check()
        one, two = asked.held_against
        print("\n".join(held_against(one, two, asked.seen)))
        return 0
    sample = dataclasses.replace(DEFAULT, **costs.given(asked.costs, costs.read_costs)) if asked.costs else DEFAULT
    samples = spread(sample)
    if asked.records:
        samples = costs.given(asked.records, lambda path: from_records(path, sample.megabytes))
    check()
    setting = Setting(**{each.name: getattr(asked, each.name) for each in dataclasses.fields(Setting)})
    print(f"{setting.trials:,} trials; {setting}\n")
    for line in table(setting, samples, asked.workers, asked.seed):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
