"""The site of the documentation: its address, and links to it from estimators in notebooks."""

from functools import cache
from importlib.metadata import metadata


@cache
def site_address() -> str:
    """Return the address of the site, which stands in the project's metadata alone."""
    urls, label = metadata("sepc").get_all("Project-URL") or [], "Documentation, "
    return next(str(url).removeprefix(label) for url in urls if url.startswith(label))


class LinkedToSite:
    """Estimator whose picture in a notebook links to its page of the reference.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> SEPClassifier()._get_doc_link().removeprefix(site_address())
    'reference/api/sepc.SEPClassifier.html'
    """

    _doc_link_module = "sepc"

    @property
    def _doc_link_template(self) -> str:
        return site_address() + "reference/api/sepc.{estimator_name}.html"
