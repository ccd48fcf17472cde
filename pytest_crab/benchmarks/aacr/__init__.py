"""AACR-Bench: its release, its submissions, and matching by its rule."""
