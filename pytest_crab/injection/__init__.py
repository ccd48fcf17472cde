"""Injection: instances with a known fault, made of a repository's own history and tests.

A source lists candidates, one for each fault that may be put in, and completes one with a ``Proposal`` (see proposals).
Everything behind it is a stage of curation: an environment, the tests that see the fault, an oracle of them, its proof.
"""
