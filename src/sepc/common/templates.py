"""Jinja templates: one kind of environment for all pages."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sepc.common.errors import SepcError

if TYPE_CHECKING:
    import jinja2


def template_environment(
    package: str, filters: Mapping[str, Callable[..., Any]], needed_for: str, otherwise: str = ""
) -> "jinja2.Environment":
    """Return the environment of the templates that lie in a package's folder ``templates``.

    What a template does not know is an error, and what goes into one named ``*.html.j2`` is escaped.

    Parameters
    ----------
    package : str
    filters : dict of str to callable
        In addition to Jinja's own.
    needed_for : str
        What cannot be made without Jinja, for the error message.
    otherwise : str, optional
        A sentence on what can, for the error message.
    """
    try:
        import jinja2
    except ImportError as error:
        raise SepcError(
            f"{needed_for} needs jinja2, which is not installed. Run: pip install 'sepc[report]'. {otherwise}".rstrip()
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=jinja2.select_autoescape(["html.j2"], default_for_string=True),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(filters)
    return environment
