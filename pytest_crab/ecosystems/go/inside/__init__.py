"""What runs inside a sandbox: sent there as text, and imported by nothing."""
