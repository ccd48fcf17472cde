"""Reports of trials: summaries, terminal text and files. It reads records and runs nothing."""
