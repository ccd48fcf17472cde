"""The gate: the exit status of a run, decided by its trials' verdicts."""
