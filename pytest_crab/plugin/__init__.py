"""The entry point: registers the options, and a small plugin for each part of what is asked for."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from pytest_crab.garbage import freeze_once, no_collection
from pytest_crab.plugin import options
from pytest_crab.plugin.fixtures import crab_instance, crab_trial, pytest_generate_tests
from pytest_crab.plugin.guards import Inert, refuse_configuration, refuse_inside, refuse_system
from pytest_crab.plugin.own_modules import take_as_they_are
from pytest_crab.plugin.paths import named_path

__all__ = ["crab_instance", "crab_trial", "pytest_generate_tests"]

take_as_they_are()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options under the names that only this plugin uses."""
    options.register(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hooks of this plugin, which a conftest.py may implement whether or not a reviewer is named."""
    from pytest_crab.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: Sequence[str]
) -> Generator[None, None, None]:
    """Refuse to read instances' and foreign sets' files before any conftest.py is imported; then claim the short names.

    They come last, since any other plugin or conftest.py may own them.
    """
    refuse_configuration(early_config)
    named = early_config.known_args_namespace.file_or_dir or ()
    for argument in named:
        refuse_inside(named_path(early_config, argument))
    if named and options.names_reviewers(early_config, args):
        refuse_system()
        from pytest_crab.plugin.trust import refuse_code

        refuse_code(early_config, named)
    yield
    options.register_short(parser, options.options_of_others(early_config))


def pytest_configure(config: pytest.Config) -> None:
    """Register the small plugins: with a reviewer those of a run, else the one that keeps instances out of it."""
    config.addinivalue_line(
        "markers",
        "crab(category, kind, comment, repo, language, provenance): one for each comment of an instance",
    )
    config.addinivalue_line("markers", "crab_instances(path, ...): where the instances of crab_instance lie")
    if options.named_reviewers(config):
        refuse_system()
        from pytest_crab.errors import CrabError

        with no_collection():
            from pytest_crab.plugin.registration import register

            freeze_once()
        try:
            register(config)
        # A warning is raised where the project's filterwarnings make it an error.
        except (CrabError, pytest.PytestDeprecationWarning) as error:
            raise pytest.UsageError(str(error)) from error
    else:
        config.pluginmanager.register(Inert(config), "crab-inert")
