"""Measure AI code reviewers by what their reviews lead to."""
