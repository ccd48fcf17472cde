"""The answerers by name, each imported only when it is chosen: they choose among the options of questions."""

from __future__ import annotations

from pytest_crab.adapters import Family

ANSWERERS = Family(
    noun="answerer",
    verb="answer",
    table={
        "constant": "pytest_crab.scoring.choices.fixed:ConstantAnswerer",
        "letters": "pytest_crab.scoring.choices.letters:LetterAnswerer",
        "log-probabilities": "pytest_crab.scoring.choices.log_probabilities:LogProbabilityAnswerer",
        "random": "pytest_crab.scoring.choices.fixed:RandomAnswerer",
        "right": "pytest_crab.scoring.choices.fixed:RightAnswerer",
    },
)
