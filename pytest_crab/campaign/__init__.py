"""Many trials: an executor, its progress, and the plan of a run."""
