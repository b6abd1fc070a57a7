"""The command that shows builds in a browser: ``serve``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import rich_click as click

from ...errors import count
from .help import command
from .output import echo


@command(
    short_help="Open a page that runs builds on pictures, videos and the webcam.",
    epilog="Example: [bold]shadergen serve build/[/bold]",
)
@click.argument(
    "builds", metavar="BUILD...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--port", default=8000, show_default=True, help="Port on this machine; 0 for a free one."
)
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the page as static files to this folder instead, for any web server.",
)
@click.option(
    "--labels",
    metavar="NAMES",
    help="Names of the classes, for every BUILD: separated by commas, or a file with one name in "
    "each line.",
)
def serve(
    builds: tuple[Path, ...],
    port: int,
    no_browser: bool,
    output: Path | None,
    labels: str | None,
) -> None:
    """Open a page that runs each BUILD on pictures, videos or webcam, with a before/after slider.

    Only this machine can reach the page. Compile the builds with --device gles30,webgpu first:
    they run on WebGPU if the browser has a GPU for it, else on WebGL 2.
    """
    from ..option_parsing import parse_labels
    from ..serving import write_site
    from ..site_server import make_server

    names = parse_labels(labels)
    if output is not None:
        write_site(builds, output, names)
        page = f"{output}: a page for {count(len(builds), 'build')}"
        echo(f"{page}; see it with: python -m http.server -d {output}")
        return
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        write_site(builds, site, names)
        with make_server(site, port) as server:
            address = f"http://localhost:{server.server_port}/"
            echo(f"{address} (stop with Ctrl-C)")
            if not no_browser:
                import webbrowser  # 5 ms, which no other command needs

                webbrowser.open(address)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                echo()
