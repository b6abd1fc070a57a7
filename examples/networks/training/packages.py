"""Packages with free photographs and fonts, fetched through the package managers' own commands."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """A package and the files of it that are used, as endings of their paths."""

    name: str
    version: str
    source: str  # "apt", "pip" or "npm"
    licence: str
    files: tuple[str, ...]


def cache() -> Path:
    """Return the folder for everything fetched, outside the repository."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "shadergen" / "networks"


@contextmanager
def unpacked(package: Package) -> Iterator[list[Path]]:
    """Fetch a package; give the files that are used, for the time of a ``with`` statement."""
    tool = {"apt": "apt-get", "pip": sys.executable, "npm": "npm"}[package.source]
    if shutil.which(tool) is None:
        raise SystemExit(
            f"{package.name} {package.version} comes through {tool}, which is not installed:"
            " run this on Debian or Ubuntu"
        )
    command = {
        "apt": ["download", "-q", f"{package.name}={package.version}"],
        "pip": [
            *("-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"),
            f"{package.name}=={package.version}",
        ],
        "npm": ["pack", "--silent", f"{package.name}@{package.version}"],
    }[package.source]
    folder = cache() / "unpacked" / package.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        fetched = subprocess.run(
            [tool, *command], cwd=folder, capture_output=True, text=True, check=False
        )
        if fetched.returncode:
            raise SystemExit(
                f"cannot fetch {package.name} {package.version}:\n{fetched.stderr.strip()}"
            )
        (archive,) = folder.iterdir()
        if package.source == "apt":
            subprocess.run(["dpkg", "-x", archive, folder], check=True)
        elif package.source == "pip":
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(folder)
        else:
            with tarfile.open(archive) as tarball:
                tarball.extractall(folder, filter="data")
        archive.unlink()
        files = [
            path
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.as_posix().endswith(package.files)
        ]
        if not files:
            raise SystemExit(f"{package.name} {package.version} holds none of {package.files}")
        yield files
    finally:
        shutil.rmtree(folder)
