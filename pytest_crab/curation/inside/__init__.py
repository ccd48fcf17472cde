"""What curation runs inside a workspace; sent there as text."""
