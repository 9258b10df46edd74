"""Errors that sepc raises on purpose, and its warning: each has a code, fields, and the text that they make."""

import datetime as dt
import os
import sys
import warnings
from collections.abc import Mapping
from decimal import Decimal
from types import NoneType
from typing import Any

from sepc.common.messages import message

_PLAIN = (str, bytes, int, float, complex, NoneType, dt.date, dt.time, dt.timedelta, Decimal)


class _CodedError(Exception):
    """An exception whose text is the message of a code."""

    def __init__(self, code: str, /, **fields: Any) -> None:
        super().__init__(message(code, **fields))
        self.code = code
        self.fields: dict[str, Any] = {name: _plain(value) for name, value in fields.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).__new__, (type(self), *self.args), vars(self)


def _plain(value: Any) -> Any:
    """Return a value of Python's own types; of a classifier, say, its `repr`."""
    if hasattr(value, "tolist") and not isinstance(value, type):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value)) if type(value) in (list, tuple) else repr(value)
    return value if isinstance(value, _PLAIN) else str(value) if isinstance(value, os.PathLike) else repr(value)


class SepcError(_CodedError):
    """Base class of every error that sepc raises on purpose.

    Attributes
    ----------
    code : str
        What is wrong, in a word that stays when the text of the message changes.
    fields : dict
        The values that the message names: texts, numbers, dates, None, and lists and dicts of them. Of arrays they are
        lists, of other objects their `repr`.

    Examples
    --------
    >>> import sepc
    >>> try:
    ...     sepc.geometry.min_volume_ellipsoid([[0.0], [1.0]], tol=2.0)
    ... except sepc.SepcError as error:
    ...     print(type(error).__name__, error.code, error.fields)
    ...     print(error)
    InputError tol {'tol': 2.0, 'default': '1e-7'}
    tol is 2.0; expected a number between 0 and 1, such as the default 1e-7.
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
    ...         print(error.code)
    file-damaged
    """


class MissingRecordsError(SepcError, AttributeError):
    """A model was saved without its training records, and they are needed.

    It is an `AttributeError`, so that `hasattr` is False for what needs them, and a model can still be inspected.
    """


class SepcWarning(_CodedError, UserWarning):  # noqa: N818
    """Warning about something that affects the result; the message says how.

    It has a `code` and `fields`, as a `SepcError` has.

    Examples
    --------
    Those of sepc alone can be silenced.

    >>> import sepc, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SepcWarning)
    ...     clf = sepc.SEPClassifier().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    """


def warn(code: str, /, **fields: Any) -> None:
    """Warn with the line of the user's code that has led to it: the first one outside of sepc and scikit-learn."""
    frame, level = sys._getframe(1), 2
    not_the_users = "sepc", "sklearn", "contextlib"
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in not_the_users:
        frame, level = frame.f_back, level + 1
    warnings.warn(SepcWarning(code, **fields), stacklevel=level)
