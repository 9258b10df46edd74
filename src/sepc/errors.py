"""The errors that sepc raises on purpose."""


class SepcError(Exception):
    """Base class of every error that sepc raises on purpose.

    Examples
    --------
    >>> import sepc
    >>> try:
    ...     sepc.min_volume_ellipsoid([])
    ... except sepc.SepcError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(SepcError, ValueError):
    """A value was handed in that breaks a rule; the message names the value, the rule and the remedy.

    Examples
    --------
    >>> issubclass(InputError, ValueError)
    True
    """


class ModelFileError(InputError):
    """A file is damaged, or no model that this version of sepc can read.

    Examples
    --------
    >>> issubclass(ModelFileError, InputError)
    True
    """


class MissingRecordsError(SepcError, AttributeError):
    """A model was saved without its training records, and they are needed.

    Examples
    --------
    An attribute that needs them counts as not there, so that a model can still be shown and looked through.

    >>> issubclass(MissingRecordsError, AttributeError)
    True
    """


class SepcWarning(UserWarning):
    """Something was done that a user should know of; the message says what it means for the result.

    Examples
    --------
    >>> issubclass(SepcWarning, UserWarning)
    True
    """
