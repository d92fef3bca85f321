"""What Sphinx makes the site with; started by tools/site, which brings the pages together."""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

sys.path.insert(0, str(pathlib.Path(__file__).parent))

project = "dlpark"
author = "the dlpark authors"
copyright = "the dlpark authors, Apache-2.0"
VERSION = dict(re.findall(r"#define DLPARK_VERSION_(\w+) +(\d+)", (ROOT / "include/dlpark/version.h").read_text()))
version = release = "{MAJOR}.{MINOR}.{PATCH}".format(**VERSION)

extensions = [
    "breathe",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.graphviz",
    "sphinx_copybutton",
    "names",
]
exclude_patterns = ["repository"]
nitpicky = False

breathe_projects = {"dlpark": os.path.join(os.environ["DLPARK_DOXYGEN"], "xml")}
breathe_default_project = "dlpark"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
# `str or dtype` in a docstring is a type, and more than one class has an attribute of that name.
suppress_warnings = ["ref.python"]

napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["torch"]

graphviz_output_format = "svg"

html_theme = "furo"
pygments_dark_style = "a11y-high-contrast-dark"
html_title = f"dlpark {version}"
html_static_path = ["static"]
html_css_files = ["dlpark.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def each_attribute(app, what, name, thing, options, lines):
    """Napoleon knows "width, height : int" for parameters and not for attributes: there each gets a line of its own."""
    at = [i for i, line in enumerate(lines[:-1]) if line == "Attributes" and lines[i + 1].startswith("---")]
    made = []
    for i, line in enumerate(lines):
        names = re.fullmatch(r"(\w+(?:, \w+)+) : (.*)", line) if at and i > at[0] else None
        if names:
            *first, last = names[1].split(", ")
            said = []
            for below in lines[i + 1 :]:
                if not below.startswith("    "):
                    break
                said.append(below)
            for each in first:
                made += [f"{each} : {names[2]}", *said]
            line = f"{last} : {names[2]}"
        made.append(line)
    lines[:] = made


def setup(app):
    app.connect("autodoc-process-docstring", each_attribute, priority=400)
