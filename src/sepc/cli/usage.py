"""The error of someone who calls a command wrongly."""

from sepc.errors import SepcError


class UsageError(SepcError):
    """The arguments make no sense together.

    Examples
    --------
    >>> issubclass(UsageError, SepcError)
    True
    """
