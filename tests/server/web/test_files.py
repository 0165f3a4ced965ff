"""Files of the playground: who gets them, what they may ask, and what their scripts never do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from server.settings import Settings
from server.web.files import PAGE, names
from tests.documents import ROOT
from tests.server.running import Running, error_of, serving

WEB = ROOT / "server" / "web"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
MOST_LINES = 300


def files() -> list[Path]:
    return [path for path in sorted(WEB.rglob("*")) if path.suffix in (".html", ".css", ".js")]


def test_browsers_get_the_page_and_programs_the_links(running: Running) -> None:
    """`/` answers by what its reader accepts, and says so to caches; the link that programs get is the same page."""
    page, told = running.client.get("/", headers=BROWSER), running.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert told.headers["content-type"] == "application/json"
    assert page.headers["vary"] == told.headers["vary"] == "Accept"
    assert running.client.get(told.json()["playground"]).text == page.text
    assert running.client.head("/", headers=BROWSER).headers["content-length"] == page.headers["content-length"]


def test_each_file_keeps_the_browser_to_this_server(running: Running) -> None:
    """Scripts and styles come from the server alone, none stands in the page, and nothing is asked elsewhere."""
    assert set(names()) == {path.relative_to(WEB).as_posix() for path in files()}
    types = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
    for path in files():
        name = path.relative_to(WEB).as_posix()
        answer = running.client.get(f"/playground/{name}" if name != PAGE else "/playground")
        assert (answer.status_code, answer.content) == (200, path.read_bytes())
        assert answer.headers["content-type"].startswith(types[path.suffix])
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["require-trusted-types-for"] == "'script'"


def test_what_the_page_loads_is_there(running: Running) -> None:
    page = running.client.get("/", headers=BROWSER).text
    loaded = [name for name in re.findall(r'(?:src|href)="([^"]+)"', page) if not name.startswith("data:")]
    assert len(loaded) >= 6
    assert all(re.fullmatch(r"[a-z/_.]+", name) for name in loaded)  # relative, for proxies with a prefix
    assert all(running.client.get(f"/{name}").status_code == 200 for name in loaded)


@pytest.mark.parametrize(
    "name", ["nothing.js", "__init__.py", "..%2fapp.py", "modules/../../app.py", "modules", "index.html", ""]
)
def test_nothing_else_is_given_out(running: Running, name: str) -> None:
    assert error_of(running.client.get(f"/playground/{name}"))["code"] == "not_found"


def test_off_by_option() -> None:
    """Addresses of a playground that is off are 404s, and `/` tells browsers what it tells programs."""
    with serving(settings=Settings(playground=False)) as closed:
        for path in ("/playground", "/playground/style.css", "/playground/modules/app.js"):
            assert closed.client.get(path, headers=BROWSER).status_code == 404
        root = closed.client.get("/", headers=BROWSER)
        assert root.json()["name"] == "swyb"
        assert "playground" not in root.json()


def test_no_file_reads_text_as_html_or_names_a_host() -> None:
    """Texts become text nodes. The one address is the name of SVG's elements."""
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|localStorage|cookie"
    )
    for path in files():
        text = path.read_text(encoding="utf-8")
        assert not re.search(forbidden, text), path
        assert set(re.findall(r"\w+://[^\s\"'`]*", text)) <= {"http://www.w3.org/2000/svg"}, path


def test_files_are_short_and_say_what_they_are() -> None:
    for path in files():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= MOST_LINES, path
        assert path.suffix == ".html" or lines[0].startswith(("// ", "/* ")), path
