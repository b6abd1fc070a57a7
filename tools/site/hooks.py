"""MkDocs hooks: the documents of the repository as a site, with generated reference pages.

docs/*.md stay as they are on a code host. Links from them to files outside docs become links to
the page made of the file, or to the file in the repository. ``mkdocs.yml`` names this module.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url

sys.path.insert(0, str(Path(__file__).parent))
import reference

ROOT = Path(__file__).resolve().parents[2]
# Documents outside docs/, and their pages.
BESIDE = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "examples/espcn/README.md": "samples/espcn.md",
    "examples/executor/README.md": "samples/executor.md",
    "examples/native/README.md": "samples/native.md",
    "examples/networks/README.md": "samples/networks.md",
    "examples/rust/README.md": "samples/rust.md",
    "examples/web/README.md": "samples/web.md",
    "runtime_glue/web/README.md": "reference/javascript-package.md",
}
PAGES = {"README.md": "index.md", **BESIDE}
GENERATED = {
    "reference/operators.md": reference.operators,
    "reference/python.md": reference.python,
    "reference/cpp.md": reference.cpp,
    "reference/javascript.md": reference.javascript,
    "reference/schema.md": reference.schema,
}
LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )([^)\s]+)", re.MULTILINE)
ROLE = re.compile(r":\w+:<code>[.~]*([\w.]+)</code>")
EMPTY_HEADING = re.compile(r"<th([^>]*)></th>")
FENCE = re.compile(r"^( *)(```+)[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the documents outside docs/, and the generated pages."""
    for path, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text("utf-8")))
    for page, write in GENERATED.items():
        files.append(File.generated(config, page, content=write()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links to files of the repository into links of the site."""
    uri = page.file.src_uri
    if uri in GENERATED:
        return markdown
    origin = {p: f for f, p in BESIDE.items()}.get(uri, f"docs/{uri}")

    def replaced(match: re.Match[str]) -> str:
        return match[1] + site_link(origin, uri, match[2], config["extra"]["repository"])

    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(replaced, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(replaced, markdown[end:])])


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Take Sphinx's roles out of docstrings, and the empty headings out of tables.

    Names in roles stay as code. Screen readers would announce empty headings, which head nothing.
    """
    return EMPTY_HEADING.sub(r"<td\1></td>", ROLE.sub(r"<code>\1</code>", html))


def site_link(origin: str, uri: str, link: str, repository: str) -> str:
    """Return where a link of a document leads on the site.

    Args:
        origin: the document in the repository.
        uri: its page.
        link: as the document has it.
        repository: the address of the repository, for what has no page.
    """
    if re.match(r"[a-z]+:|#", link):
        return link
    path, hash_, anchor = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
    if target in PAGES:
        page = PAGES[target]
    elif target.startswith("docs/"):
        page = target.removeprefix("docs/")
    else:
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{repository}/{kind}/main/{target}{hash_}{anchor}"
    return get_relative_url(page, uri) + hash_ + anchor
