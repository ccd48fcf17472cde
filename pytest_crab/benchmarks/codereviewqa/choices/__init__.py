"""The answerers by name, each imported only when it is chosen: they choose among the options of questions."""

from __future__ import annotations

from pytest_crab.adapters import Family

#: The section of crab.yaml that holds variants of answerers.
SECTION = "answerers"

ANSWERERS = Family(
    noun="answerer",
    verb="answer",
    members={
        "constant": "pytest_crab.benchmarks.codereviewqa.choices.fixed:ConstantAnswerer",
        "letters": "pytest_crab.benchmarks.codereviewqa.choices.letters:LetterAnswerer",
        "log-probabilities": "pytest_crab.benchmarks.codereviewqa.choices.log_probabilities:LogProbabilityAnswerer",
        "random": "pytest_crab.benchmarks.codereviewqa.choices.fixed:RandomAnswerer",
        "right": "pytest_crab.benchmarks.codereviewqa.choices.fixed:RightAnswerer",
    },
)
