"""The site of `make docs`: every page is in its navigation, and nothing is loaded from other hosts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from scripts import site
from tests.documents import ROOT, Document, documents

CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def pages(nav: object) -> Iterator[str]:
    """The files that the navigation names, from top to bottom."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for below in nav.values():
            yield from pages(below)
    elif isinstance(nav, list):
        for below in nav:
            yield from pages(below)


def test_the_navigation_has_every_page_once() -> None:
    """Each page is in the navigation once, and no file that isn't there."""
    told = list(pages(CONFIG["nav"]))
    assert len(told) == len(set(told))
    assert set(told) == {page.name for page in documents()}
    assert all((ROOT / name).is_file() for name in told)


def test_what_pages_link_to_is_copied() -> None:
    """A link of a page leads to a file of the site."""
    copied = {str(path.relative_to(ROOT)) for path in site.sources()}
    for page in documents():
        for link in page.links:
            if "://" not in link:
                target = ((ROOT / page.name).parent / link.partition("#")[0]).resolve()
                assert str(target.relative_to(ROOT.resolve())) in copied, f"{page.name}: {link}"


def test_no_fonts_of_other_hosts() -> None:
    """The theme would ask Google for them unless told otherwise."""
    assert CONFIG["theme"]["font"] is False
    assert not any("://" in str(item) for item in (CONFIG.get("extra_css", []), CONFIG.get("extra_javascript", [])))
    assert not any("```mermaid" in page.text for page in documents()), "its script would come from outside"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.html", '<script src="https://unpkg.com/x.js"></script>', 1),
        ("a.html", '<link rel="stylesheet" href="//fonts.example/css">', 1),
        ("a.css", "@import 'https://fonts.example/css'; a { background: url(//b.example/c.png) }", 2),
        ("a.html", '<div class="mermaid">graph</div>', 1),
        ("a.html", '<a href="https://example.org">there</a><img src="../b.svg"><link href="c.css">', 0),
    ],
)
def test_what_is_loaded_from_outside_is_found(tmp_path: Path, name: str, text: str, found: int) -> None:
    """Scripts, styles, images and fonts count; links to click don't."""
    (tmp_path / name).write_text(text)
    assert len(list(site.outside(tmp_path))) == found


def test_pages_begin_with_a_heading() -> None:
    """Links from the reference are called as the page is."""
    for page in documents():
        assert Document(page.name).text.startswith("# "), page.name
