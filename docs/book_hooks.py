"""Hooks of MkDocs for the book."""

import re


def on_page_content(html, **_):
    """Unescapes the pipes in the cells of tables: GitHub does so, Python-Markdown does not within code."""
    return re.sub(r"<td\b.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.DOTALL)
