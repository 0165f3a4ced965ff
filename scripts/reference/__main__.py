"""`python -m scripts.reference`: writes the pages that are made from the code."""

from __future__ import annotations

from scripts.reference.pages import FOLDER, pages

for name, text in pages().items():
    (FOLDER / name).write_text(text, encoding="utf-8")
