"""Stand-ins and contracts for the tests of those who add their own reviewers and agents."""
