"""A click group that knows its commands by their names alone, and imports each when it is called."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Mapping
from typing import Any

import click

from pytest_crab import systems
from pytest_crab.errors import CrabError, describe_os_error
from pytest_crab.garbage import freeze_once, no_collection
from pytest_crab.registry import Subcommand, load

#: The subcommands below the headings of the help.
Sections = Mapping[str, Mapping[str, Subcommand]]


#: What the system answers to a call that is wrong, whatever the machine: such an error keeps its traceback.
_DEFECTS = frozenset((None, errno.EBADF, errno.EINVAL))


class LazyGroup(click.Group):
    """A group whose ``sections`` are asked for when it is used; asking for help imports none of its commands."""

    def __init__(self, *args: Any, sections: Callable[[], Sections], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._sections = sections

    def subcommands(self) -> dict[str, Subcommand]:
        """Return the subcommands by name, in the order of the help."""
        return {name: command for section in self._sections().values() for name, command in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        """Name every subcommand."""
        return sorted(self.subcommands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Import the subcommand that was called."""
        command = self.subcommands().get(cmd_name)
        if command is None:
            return None
        reason = systems.refusal()
        if reason is not None:
            raise click.ClickException(reason)
        with no_collection():
            found = self.load(cmd_name, command)
            if not isinstance(found, click.Group):  # whose command imports more
                freeze_once()
        return found

    def load(self, name: str, command: Subcommand) -> click.Command:  # noqa: ARG002 - for groups of groups
        """Return the command of a target. Raises BadInput."""
        found: click.Command = load(command.target)
        return found

    def _of_group(self, name: str) -> Collection[str]:
        """Return the names of the subcommands of a subcommand that is a group; of any other there are none."""
        found = self.load(name, self.subcommands()[name])
        return found.subcommands() if isinstance(found, LazyGroup) else ()

    def invoke(self, ctx: click.Context) -> Any:
        """Call the subcommand, and show what it raises as CrabError or OSError as its error: none catches these."""
        try:
            return super().invoke(ctx)
        except CrabError as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:  # the reader has ended, and click ends without a word
            raise
        except OSError as error:
            if error.filename is None and error.errno in _DEFECTS:
                raise
            raise click.ClickException(f"this machine {describe_os_error(error)}") from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the group that has a subcommand, or else the nearest one, where there is none of that name."""
        if args and args[0] not in self.subcommands() and not args[0].startswith("-"):
            from pytest_crab.formats import format_near

            owner = next((name for name in self.subcommands() if args[0] in self._of_group(name)), None)
            near = format_near(args[0], self.subcommands())
            advice = near if owner is None else f" (did you mean {owner} {args[0]}?)"
            ctx.fail(f"No such command {args[0]!r}{advice}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - the same
        """Write the subcommands into the help, a section for each heading."""
        widest = max(map(len, self.subcommands()), default=0)
        for title, commands in self._sections().items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), command.summary) for name, command in commands.items()])
