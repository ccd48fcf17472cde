"""Making instances that can be trusted: environments for pull requests that come without one, and proofs."""
