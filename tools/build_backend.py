"""The build backend: setuptools', after the README was made fit for a package index.

An index shows the README without the repository, so its relative links would lead nowhere. Before a
build, links get the address of the repository at the version's tag, and pictures that of their
files. pyproject.toml reads the result. Committing a second README would be the alternative.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from setuptools import build_meta as setuptools

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ROOT / ".build" / "README.md"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")

get_requires_for_build_wheel = setuptools.get_requires_for_build_wheel
get_requires_for_build_sdist = setuptools.get_requires_for_build_sdist
get_requires_for_build_editable = setuptools.get_requires_for_build_editable


def readme(text: str, repository: str, version: str) -> str:
    """Return a README whose links lead to the files of a version in the repository."""
    raw = repository.replace("//github.com/", "//raw.githubusercontent.com/")

    def absolute(match: re.Match[str]) -> str:
        picture, label, path = match.groups()
        base = f"{raw}/v{version}" if picture else f"{repository}/blob/v{version}"
        return f"{picture}[{label}]({base}/{path})"

    return LINK.sub(absolute, text)


def write_readme() -> None:
    """Write the README for the index."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    repository = re.search(r'^Repository = "(.+)"$', project, re.MULTILINE)
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "__init__.py").read_text("utf-8"), re.M)
    assert repository is not None
    assert version is not None
    WRITTEN.parent.mkdir(exist_ok=True)
    source = (ROOT / "README.md").read_text("utf-8")
    WRITTEN.write_text(readme(source, repository[1], version[1]), "utf-8")


def prepare_metadata_for_build_wheel(*arguments: Any, **named: Any) -> str:
    """As setuptools has it."""
    write_readme()
    return setuptools.prepare_metadata_for_build_wheel(*arguments, **named)


def prepare_metadata_for_build_editable(*arguments: Any, **named: Any) -> str:
    """As setuptools has it."""
    write_readme()
    return setuptools.prepare_metadata_for_build_editable(*arguments, **named)


def build_wheel(*arguments: Any, **named: Any) -> str:
    """As setuptools has it."""
    write_readme()
    return setuptools.build_wheel(*arguments, **named)


def build_editable(*arguments: Any, **named: Any) -> str:
    """As setuptools has it."""
    write_readme()
    return setuptools.build_editable(*arguments, **named)


def build_sdist(*arguments: Any, **named: Any) -> str:
    """As setuptools has it."""
    write_readme()
    return setuptools.build_sdist(*arguments, **named)
