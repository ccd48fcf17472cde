"""Scripts that curation sends into a workspace as text."""
