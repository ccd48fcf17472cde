from __future__ import annotations

import sys
from typing import Any

#: Two reviewers of one kind, without a fingerprint, that differ in one argument.
CRAB = """
reviewers:
  alpha: {use: command, command: [{python}, say.py, from-alpha], readable: [say.py]}
  beta: {use: command, command: [{python}, say.py, from-beta], readable: [say.py]}
"""
SAY = """
import json, sys
print(json.dumps({"schema": 1, "findings": [{"body": sys.argv[-1]}]}))
"""


def test_reviewers_without_a_fingerprint_are_told_apart_by_their_settings(lab: Any) -> None:
    lab.write({"crab.yaml": CRAB.replace("{python}", sys.executable), "say.py": SAY})
    lab.run("--reviewer=alpha", "--reviewer=beta", "instances/shop-1")
    said = {trial["reviewer"]: [finding["body"] for finding in trial["review"]["findings"]] for trial in lab.records()}
    assert said == {"alpha": ["from-alpha"], "beta": ["from-beta"]}
