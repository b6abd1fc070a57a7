"""Helpers of :mod:`.rules`; every runtime has the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .document import SCHEDULE, malformed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .schedule import Build, Texture

Place = str  # where a member is: passes[3].reads[0]
Ref = str  # the name of a texture or a buffer
Layer = tuple[str | int | None, int]  # of a texture, or of a slot
Use = dict[str, int]  # of each limit


def refuse(what: str, member: Place) -> NoReturn:
    """Raise SG0503 at a member of the schedule."""
    malformed(what, f"{SCHEDULE}: {member}")


def repeats(items: Sequence[str] | Sequence[int]) -> bool:
    """Whether an item occurs twice."""
    return len(set(items)) < len(items)


def listed(numbers: Sequence[int]) -> str:
    """Return numbers as text for a message."""
    return f"[{', '.join(map(str, numbers))}]"


def by_slot(build: Build) -> list[Texture]:
    """Return the textures with slots, ordered by slot and first use."""
    own = [texture for texture in build.textures.values() if texture.slot is not None]
    return sorted(own, key=lambda texture: (texture.slot or 0, texture.first))


def most(used: Use, limit: str, value: int) -> None:
    """Raise the recorded use of a limit."""
    used[limit] = max(used.get(limit, 0), value)
