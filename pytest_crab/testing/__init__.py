"""Fakes for the tests of reviewers and agents: checkouts, a scripted provider, and a search for leaked keys."""
