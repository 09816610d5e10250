"""One HTML page from an executed notebook. In: the notebook. Out: text that needs no network.

nbconvert's own page asks for require.js, jQuery, MathJax and Mermaid at start. None is needed to
*read* a page whose views are pictures, so the template below leaves those scripts out; pictures are
embedded. What is lost: formulas in Markdown show as they were typed.
"""

from __future__ import annotations

from typing import Any

from jaxlite.cli.parts import load

# The blocks are those of nbconvert's lab template. Those that load scripts are emptied; the one for
# styles, empty there, makes wide graphs fit: nbconvert cuts them off at the edge of the page.
TEMPLATE = """\
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock html_head_js -%}
{%- block jupyter_widgets -%}{%- endblock jupyter_widgets -%}
{%- block html_head_js_mathjax -%}{%- endblock html_head_js_mathjax -%}
{%- block html_head_js_mermaidjs -%}{%- endblock html_head_js_mermaidjs -%}
{%- block html_head_css -%}
<style>.jp-OutputArea-output img { max-width: 100%; height: auto; }</style>
{%- endblock html_head_css -%}
"""


def to_html(notebook: Any, title: str, folder: str) -> str:
    """Return ``notebook`` as one page.

    Args:
        notebook: an nbformat notebook, with outputs.
        title: what the browser's tab shows.
        folder: where relative picture paths in Markdown start.
    """
    exporter = load("nbconvert").HTMLExporter(raw_template=TEMPLATE, embed_images=True)
    resources = {"metadata": {"name": title, "path": folder}}
    body, _ = exporter.from_notebook_node(notebook, resources=resources)
    return str(body)
