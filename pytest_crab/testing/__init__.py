"""Fakes for the tests of reviewers and agents: a scripted provider, and a search for leaked keys."""
