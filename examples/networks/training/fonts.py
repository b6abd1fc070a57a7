"""The fonts that text is drawn in, all under free licences, from Debian packages."""

import shutil
from pathlib import Path

from packages import Package, cache, unpacked

OUTLINES = (".ttf", ".otf")
PACKAGES = (
    Package("fonts-bebas-neue", "3.0-2", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-breip", "1:0.5.1-3", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-cabin", "1.5-3", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-cabinsketch", "1.02-3", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-cantarell", "0.303.1-1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-comic-neue", "2.51-4", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-dejavu-core", "2.37-6", "apt", "Bitstream Vera", OUTLINES),
    Package("fonts-inconsolata", "001.010-6", "apt", "OFL-1.0", OUTLINES),
    Package("fonts-kristi", "20101220-1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-lato", "2.0-2.1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-league-spartan", "2.210-1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-leckerli-one", "20120409-1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-liberation2", "2.1.5-1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-lobstertwo", "2.0-2.1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-open-sans", "1.11-2", "apt", "Apache-2.0", OUTLINES),
    Package("fonts-play", "1.002+20150307.1-0.1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-quattrocento", "1.1-2.1", "apt", "OFL-1.1", OUTLINES),
    Package("fonts-roboto-slab", "1.100263+20170512-2", "apt", "Apache-2.0", OUTLINES),
    Package("fonts-vollkorn", "4.105-2", "apt", "OFL-1.1", OUTLINES),
)


def fonts() -> list[Path]:
    """Return the paths of all font files."""
    return [path for package in PACKAGES for path in sorted(_folder(package).iterdir())]


def _folder(package: Package) -> Path:
    """Return the folder with the font files of a package, fetching the package if needed."""
    folder = cache() / package.name
    if not folder.exists():
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        with unpacked(package) as files:
            for path in files:
                shutil.copy(path, partial)
        partial.rename(folder)
    return folder
