"""Options that avoid a part of the compiler, to find out which part makes a build wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ...backends.dialects.language import without_comments
from ...errors import ShadergenError
from ...passes.pipeline import OPTIONAL
from ...records import dataclass, replace
from ..choices import PRECISIONS
from ..options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...backends.build_files import BuildFiles

# Of each option, the values that avoid the most code, first. None takes the option away.
VALUES: dict[str, tuple[Any, ...]] = {
    "precision": ("highp",),
    "weight_format": ("float32",),
    "winograd": ("off",),
    "fuse_separable": ("off",),
    "stage": ("fragment", "compute"),
    "fetch": ("texel", "sample"),
    "weights": ("texture", "ubo", "constants", "ssbo"),
    "parameters": ("constants", "ubo"),
    "mrt": (1,),
    "textures": ("array", "2d"),
    "tuning": (None,),
    "calibrate": (None,),
}


@dataclass(frozen=True)
class Trial:
    """A change of options: fields of ``Options`` and their values."""

    changes: tuple[tuple[str, Any], ...]

    def options(self, options: Options) -> Options:
        """Return the options with the change."""
        return replace(options, **dict(self.changes))

    def text(self, options: Options) -> str:
        """Return the change as options to type."""
        return " ".join(_typed(name, value, options) for name, value in self.changes)

    def joined(self, other: Trial) -> Trial:
        """Return both changes; passes that are left out add up."""
        found = dict(self.changes)
        for name, value in other.changes:
            if name == "disable_pass":
                value = tuple(dict.fromkeys((*found.get(name, ()), *value)))
            found[name] = value
        return Trial(tuple(found.items()))


def trials(options: Options) -> Iterator[Trial]:
    """Yield the changes of one option that the options permit."""
    known = {f.name for f in fields(Options)}
    for name, values in VALUES.items():
        assert name in known
        for value in values:
            trial = Trial(((name, value),))
            current = getattr(options, name)
            same = value in (current, PRECISIONS.get(str(current)))
            if not same and _is_allowed(trial.options(options)):
                yield trial
    for step in OPTIONAL:
        if step.__name__ not in options.disable_pass:
            yield Trial((("disable_pass", (*options.disable_pass, step.__name__)),))


def _is_allowed(options: Options) -> bool:
    try:
        options.target()
    except ShadergenError:
        return False
    return True


def _typed(name: str, value: Any, options: Options) -> str:
    flag = f"--{name.replace('_', '-')}"
    if value is None:
        return f"(without {flag})"
    if name == "disable_pass":
        new = [step for step in value if step not in options.disable_pass]
        return " ".join(f"{flag} {step}" for step in new)
    return f"{flag} {value}"


def changed_passes(before: BuildFiles, after: BuildFiles) -> int:
    """Return how many GPU passes differ between two builds: a pass that became another counts once.

    Passes are equal if their shaders, kernels and sizes are.
    """
    old, new = _counted(before), _counted(after)
    return max((old - new).total(), (new - old).total())


def _counted(files: BuildFiles) -> Counter[tuple[Any, ...]]:
    data = files.schedule
    textures = {t["name"]: t for t in data["textures"]}

    def shape(name: str) -> tuple[Any, ...]:
        t = textures[name]
        return t["kind"], t["format"], str(t["width"]), str(t["height"]), str(t["layers"])

    return Counter(
        (
            p["kernel"],
            without_comments(files.shaders[p["shader"]]),
            str(p["uniforms"]),
            tuple(shape(r["texture"]) for r in p["reads"]),
            tuple((shape(w["texture"]), w["layer"]) for w in p["writes"]),
        )
        for p in data["passes"]
    )


def same_build(before: BuildFiles, after: BuildFiles) -> bool:
    """Whether two builds are the same files."""
    return (
        before.schedule == after.schedule
        and before.shaders == after.shaders
        and before.weights.sha256() == after.weights.sha256()
    )
