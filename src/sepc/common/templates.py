"""Jinja templates: the environment of all pages."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sepc.common.errors import SepcError

if TYPE_CHECKING:
    import jinja2


def template_environment(
    package: str, filters: Mapping[str, Callable[..., Any]], needed_for: str, otherwise: str = ""
) -> "jinja2.Environment":
    """Return the environment of the templates in a package's folder ``templates``, with these filters added.

    Undefined names raise; values in ``*.html.j2`` are escaped. The error message for a missing Jinja names what it is
    `needed_for`; the sentence `otherwise` says what works without it.
    """
    try:
        import jinja2
    except ImportError as error:
        raise SepcError(
            "template-engine-missing", needed_for=needed_for, otherwise=otherwise and f" {otherwise}"
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
