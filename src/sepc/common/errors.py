"""Errors that sepc raises on purpose, and its warning."""

import sys
import warnings


class SepcError(Exception):
    """Base class of every error that sepc raises on purpose.

    Examples
    --------
    >>> import sepc
    >>> try:
    ...     sepc.geometry.min_volume_ellipsoid([])
    ... except sepc.SepcError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(SepcError, ValueError):
    """A value was handed in that breaks a rule; the message names the value, the rule and the remedy.

    Examples
    --------
    It is a `ValueError`, as scikit-learn raises for bad values.

    >>> import sepc
    >>> try:
    ...     sepc.SEPClassifier().fit([[1.0], [float("inf")]], ["a", "b"])
    ... except ValueError as error:
    ...     print(str(error)[:61])
    X contains inf in column 0 (1 rows); expected finite numbers.
    """


class ModelFileError(InputError):
    """A file is damaged, or no model that this version of sepc can read.

    Examples
    --------
    >>> import sepc
    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile(suffix=".sepc") as file:
    ...     try:
    ...         sepc.load(file.name)
    ...     except sepc.ModelFileError as error:
    ...         print("is damaged or was not written by" in str(error))
    True
    """


class MissingRecordsError(SepcError, AttributeError):
    """A model was saved without its training records, and they are needed.

    It is an `AttributeError`, so that `hasattr` is False for what needs them, and a model can still be inspected.
    """


class SepcWarning(UserWarning):
    """Warning about something that affects the result; the message says how.

    Examples
    --------
    Those of sepc alone can be silenced.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SepcWarning)
    ...     warnings.warn("this is not shown", SepcWarning)
    """


def warn(message: str) -> None:
    """Warn with the line of the user's code that has led to it: the first one outside of sepc and scikit-learn."""
    frame, level = sys._getframe(1), 2
    not_the_users = "sepc", "sklearn", "contextlib"
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in not_the_users:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, SepcWarning, stacklevel=level)
