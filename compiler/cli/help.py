"""Help in two lengths: ``--help`` shows a command's common options, ``--help-all`` every option.

The groups of commands and options are data in this file. An option without a group is shown under
"Options"; a command without an entry in ``COMMON`` shows all its options.
"""

from __future__ import annotations

import re
from copy import copy
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import rich_click as click
from rich_click.rich_panel import RichOptionPanel

from .output import print_help

if TYPE_CHECKING:
    from collections.abc import Iterator

# The commands in their order; a test compares them with the commands that exist.
COMMAND_GROUPS: dict[str, tuple[str, ...]] = {
    "Start": ("demo",),
    "Make": ("compile",),
    "Try": ("run", "serve", "verify"),
    "Look into": ("inspect", "report", "view", "diff"),
    "Measure": ("bench", "tune"),
    "Look up": ("doctor", "ops", "paths"),
}
# Titles of groups of options, and the names of the options' parameters.
OPTION_GROUPS: dict[str, tuple[str, ...]] = {
    "Model": (
        *("input_size", "input_value", "inputs", "outputs"),
        *("preprocess", "input_external", "zero_guard", "define"),
    ),
    "Device and precision": ("device", "glsl", "precision", "input_range", "calibrate"),
    "Kernels": (
        *("stage", "fetch", "mrt", "winograd", "fuse_separable", "pairs"),
        *("tuning", "foreign_tuning"),
    ),
    "Storage": ("textures", "output_encoding", "weights", "weight_format", "parameters"),
    "User shaders (--target mpv)": (
        *("hook", "upscale_from", "strength", "live_strength", "luma", "license", "preview"),
        *("intermediates",),
    ),
    "Runtime": ("variant", "runtime", "adapter"),
    "Measuring": ("frames", "warm_up", "seconds", "no_transfer", "size"),
    "Checks and details": ("explain", "no_validate", "disable_pass", "dump_ir"),
}
OTHERS = "Options"
# What --help shows of the commands that have many options.
COMMON: dict[str, tuple[str, ...]] = {
    "compile": (
        *("model", "output", "watch", "package", "input_size", "outputs", "preprocess", "device"),
        *("precision", "calibrate", "explain", "as_json"),
    ),
    "verify": (
        *("model", "build", "input_size", "device", "precision", "reference", "given"),
        *("runtime", "layers", "bisecting"),
    ),
    "inspect": (
        "path",
        "package",
        "device",
        "variant",
        "input_size",
        "outputs",
        "precision",
        "as_json",
    ),
    "report": ("path", "output", "device", "variant", "input_size", "outputs", "precision"),
    "view": (
        *("path", "source", "output", "scale", "device", "variant", "input_size", "outputs"),
        "runtime",
    ),
    "tune": ("model", "tuning", "device", "input_size", "outputs", "seconds", "runtime"),
}
# Options that --help names without a text: for what, and their parameters.
NAMED: dict[str, tuple[str, tuple[str, ...]]] = {
    "compile": ("mpv", ("stage", "hook", "strength", "upscale_from")),
}
EVERY = f"{__name__}.every"  # in a context: whether --help-all was given


class Command(click.RichCommand):
    """A command with ``--help-all``."""

    def __init__(self, *args: Any, **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_every_option,
                help="Show every option, in full, and exit.",
            )
        )

    def format_options(self, context: click.Context, formatter: Any) -> None:
        """Write the options: all in their groups, or the common ones with short texts."""
        every, common = context.meta.get(EVERY), COMMON.get(self.name or "", ())
        if every or not common:
            for title, group in groups(self, context):
                names = [p.opts[0] for p in group if every or p.name != "help_all"]
                self._write(RichOptionPanel(title, names), context, formatter)
            return
        self._write(_CommonOptions("Common options", [*common, "help"]), context, formatter)
        rest = {p.name for _, group in groups(self, context) for p in group}
        number = len(rest - {*common, "help", "help_all"})
        purpose, named = NAMED.get(self.name or "", ("", ()))
        flags = {p.name: p.opts[0] for p in self.params}
        some = f" ({purpose}: {', '.join(flags[name] for name in named)})" if named else ""
        more = f" {number} more options{some}: [bold]{context.command_path} --help-all[/bold]"
        formatter.write(formatter.rich_text(more))

    def _write(self, panel: RichOptionPanel, context: Any, formatter: Any) -> None:
        formatter.write(panel.render(self, context, formatter))


class _CommonOptions(RichOptionPanel):
    """Options with the first sentence of their texts."""

    def get_objects(self, command: Any, context: Any) -> Iterator[click.Parameter]:  # type: ignore[override]
        for option in super().get_objects(command, context):
            short = copy(option)
            if isinstance(short, click.Option):
                short.help = (short.help or "").split(". ")[0].rstrip(".") + "."
            yield short


def groups(
    command: click.Command, context: click.Context
) -> list[tuple[str, list[click.Parameter]]]:
    """Return the groups of a command's arguments and options; those without a group come first."""
    found: dict[str, list[click.Parameter]] = {title: [] for title in (OTHERS, *OPTION_GROUPS)}
    of = {name: title for title, names in OPTION_GROUPS.items() for name in names}
    for p in command.get_params(context):
        if not getattr(p, "hidden", False):
            found[of.get(p.name or "", OTHERS)].append(p)
    for title, names in OPTION_GROUPS.items():
        found[title].sort(key=lambda p: names.index(p.name or ""))
    return [(title, group) for title, group in found.items() if group]


def _show_every_option(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        context.meta[EVERY] = True
        print_help(context)
        context.exit()


def explained(error: click.ClickException) -> click.ClickException:
    """Return an error of the command line with what helps, where something does."""
    if isinstance(error, click.NoSuchOption):
        return with_suggestion(error)
    if isinstance(error, click.MissingParameter):
        if not error.message and isinstance(error.param, click.Option):
            return click.MissingParameter(error.param.help, error.ctx, error.param)
    elif isinstance(error, click.BadParameter) and error.param is not None:
        choices = map(str, getattr(error.param.type, "choices", ()))
        given = re.match(r"'(.*)' is not one of", error.message)
        near = get_close_matches(given[1], list(choices), n=1) if given else []
        if near:
            message = f"{error.message} Did you mean '{near[0]}'?"
            return click.BadParameter(message, error.ctx, error.param, error.param_hint)
    return error


def with_suggestion(error: click.NoSuchOption) -> click.NoSuchOption:
    """Return the error with the nearest option, or with the commands that have the option."""
    context, name = error.ctx, error.option_name
    if context is None:
        return error
    siblings = getattr(context.parent and context.parent.command, "commands", {})
    having = [n for n, c in siblings.items() if any(name in p.opts for p in c.params)]
    if having:
        message = f"{error.message} Commands with it: {', '.join(having)}."
        return click.NoSuchOption(name, message, ctx=context)
    known = {o for p in context.command.get_params(context) for o in p.opts if len(o) > 2}
    near = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
    return click.NoSuchOption(name, error.message, near, ctx=context)


command = partial(click.command, cls=Command)
"""Decorator: as :func:`click.command`, with ``--help-all``."""
