"""A view as one page that needs nothing else. In: what the widget takes. Out: HTML.

The page holds the same script and styles as the notebook's widget. Where no script runs it shows
the picture as an image, with its text to fold out.
"""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from jaxlite_ipython.views.palette import DARK
from jaxlite_ipython.views.words import without_halves

__all__ = ["page", "script", "styles"]

_STATIC = Path(__file__).resolve().parent.parent / "static"
_EXPORT = "export default { render };"
_START = """
const views = JSON.parse(document.getElementById("jxl-views").textContent);
const el = document.getElementById("jxl-root");
const model = { get: (name) => (name === "views" ? views : undefined), on() {}, off() {} };
document.getElementById("jxl-static").hidden = true;
render({ model, el });
"""


@functools.cache
def script() -> str:
    """Return the widget's script, an ES module."""
    return (_STATIC / "view.js").read_text(encoding="utf-8")


@functools.cache
def styles() -> str:
    """Return the widget's styles, with the colours of pictures in the dark theme."""
    rules = [
        f'.jxl-dark svg [{name}="{light}"]{{{name}:{dark}}}'
        for light, dark in DARK.items()
        for name in ("fill", "stroke")
    ]
    text = (_STATIC / "view.css").read_text(encoding="utf-8")
    return "\n".join([text, *rules, ""])


def page(views: Sequence[dict[str, Any]], title: str, svg: str, text: str) -> str:
    """Return the page of one or more views (tabs); ``svg`` and ``text`` are the static form."""
    image = base64.b64encode(svg.encode()).decode()
    # A page names no address, not even that of the SVG language; "<" would end the script.
    plain = [
        v | {"svg": v["svg"].replace(' xmlns="http://www.w3.org/2000/svg"', "")} for v in views
    ]
    data = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    data = without_halves(data)
    title = escape(title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ margin: 16px; }}
{styles()}</style>
</head>
<body>
<div id="jxl-static">
<img alt="{title}" src="data:image/svg+xml;base64,{image}" style="max-width:100%">
<details><summary>As text</summary>
<pre>{escape(text)}</pre>
</details>
</div>
<div id="jxl-root"></div>
<script type="application/json" id="jxl-views">{data}</script>
<script type="module">
{script().replace(_EXPORT, "")}{_START}</script>
</body>
</html>
"""
