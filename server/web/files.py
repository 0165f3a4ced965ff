"""Files of the playground's page, and the headers that keep its browser to this server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from starlette.responses import FileResponse

PAGE = "index.html"

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
"""Media types by the end of a name; those of the machine may differ, and browsers run no script of another type."""

_FOLDER = Path(str(files("server.web")))
_FILES: Mapping[str, Path] = {
    path.relative_to(_FOLDER).as_posix(): path for path in sorted(_FOLDER.rglob("*")) if path.suffix in _TYPES
}

OWN_HOST_ONLY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
"""Policy by which the browser runs no script of a text, asks no other host, and shows the page in no frame."""

_HEADERS = {
    "Content-Security-Policy": OWN_HOST_ONLY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # asked again each time: a page and its scripts are of one version
}


def names() -> tuple[str, ...]:
    """Names of all files, by their paths below the folder."""
    return tuple(_FILES)


def file_response(name: str, headers: Mapping[str, str] | None = None) -> FileResponse | None:
    """The file of that name, None if there is none. `headers`: further ones."""
    path = _FILES.get(name)
    if path is None:
        return None
    return FileResponse(path, media_type=_TYPES[path.suffix], headers={**_HEADERS, **(headers or {})})
