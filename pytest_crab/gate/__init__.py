"""What a run's exit status should be, given what its trials came to."""
