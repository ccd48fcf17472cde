"""CR-Bench: its release, its judge, and its algorithm 1 for gold comments."""
