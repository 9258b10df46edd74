"""Settings of the site: ``make docs`` builds it into ``docs/_build/html``, with the network cut if need be."""

import os
import sys
from importlib.metadata import metadata
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

from sepc.common.site import site_address

os.environ.setdefault("MPLBACKEND", "agg")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

_ABOUT = metadata("sepc")
project = "sepc"
author = _ABOUT["Author"]
project_copyright = author
version = release = _ABOUT["Version"]

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "measured",
    "not_found",
    "plain_sources",
]
exclude_patterns = ["_build", "gallery/**/GALLERY_HEADER.rst", "reproduction/index.html"]
templates_path = ["_templates"]

# A name in single backticks is a link where there is something to link to, and code where there is nothing.
default_role = "autolink"
nitpicky = True
nitpick_ignore_regex = [
    # Attributes and parameters named in a docstring are links only where they have a place of their own.
    ("py:obj", r"(?!sepc\.).*"),
    # Types that a reader meets but does not import.
    ("py:obj", r"sepc\.(scale|estimators|metrics).*"),
    # No inventory of another project is at hand while the network is cut.
    ("py:.*", r"(sklearn|numpy|pandas|polars|dask|matplotlib|pyarrow)\..*"),
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": ExplicitOrder(
        [f"../examples/{section}" for section in ("first_pictures", "decisions", "data", "at_work", "articles")]
    ),
    "within_subsection_order": "FileNameSortKey",
    "default_thumb_file": str(Path(__file__).parent / "pictures" / "partition.png"),
    "abort_on_example_error": True,
    "reference_url": {"sepc": None},
    "backreferences_dir": "reference/examples",
    "doc_module": ("sepc",),
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "capture_repr": ("_repr_html_", "__repr__"),
    "plot_gallery": os.environ.get("SEPC_GALLERY", "run") == "run",
}
suppress_warnings = ["config.cache"]  # the order of the gallery cannot be pickled

plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 150)]

html_theme = "pydata_sphinx_theme"
html_title = "sepc"
html_baseurl = site_address()
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "../src/sepc/reports/templates/icon.svg"  # that of a report
html_copy_source = False  # plain sources stand beside the pages
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "sepc"},
    "header_links_before_dropdown": 7,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
