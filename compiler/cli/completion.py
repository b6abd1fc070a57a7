"""What the shell completes for arguments whose values are names: device profiles and operators.

click completes the rest by itself: commands, options, the values of choices, and files. Everything
is imported inside the functions, so that other completions stay quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    import click


def device_profiles(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the profiles that start with what is typed, in a list behind its last comma.

    Files are offered too: ``doctor --save`` writes profiles.
    """
    from ...backends.devices import DEVICES
    from ...backends.devices.families import FAMILIES

    before, comma, last = incomplete.rpartition(",")
    listed = before.split(",")
    found = []
    for name in DEVICES:
        if name.startswith(last) and name not in listed:
            kind = "a family of GPUs" if name in FAMILIES else "a class of devices"
            found.append(CompletionItem(f"{before}{comma}{name}", help=kind))
    return found or [CompletionItem(incomplete, type="file")]


def operators(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of operators, layers and functions that start with what is typed."""
    from ..vocabulary import entries

    typed = incomplete.casefold()
    found: dict[str, str] = {}
    for entry in entries():
        if entry.name.casefold().startswith(typed) and "(" not in entry.name:
            found.setdefault(entry.name, entry.source)
    return [CompletionItem(name, help=source) for name, source in found.items()]
