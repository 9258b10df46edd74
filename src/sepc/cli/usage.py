"""Error of a command that is called wrongly."""

from sepc.common.errors import SepcError


class UsageError(SepcError):
    """Error of arguments that make no sense together."""
