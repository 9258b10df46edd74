"""Errors and warnings of sepc in tests, by their codes and fields; their texts are in `sepc.common.messages`."""

import re
from contextlib import contextmanager
from string import Formatter

import pytest

from sepc.common.errors import InputError, SepcWarning
from sepc.common.messages import MESSAGES


def raises(code, kind=InputError, /, **fields):
    """Expect an error of this very class and code, with these fields among its own."""

    def check(error):
        _require(error, code, fields)
        assert type(error) is kind
        return True

    return pytest.raises(kind, check=check)


@contextmanager
def warns(code, /, **fields):
    """Expect warnings of sepc, all of them of this code and with these fields among their own."""
    with pytest.warns(SepcWarning) as caught:
        yield caught
    for one in caught:
        _require(one.message, code, fields)


def _require(found, code, fields):
    same = found.code == code and {name: found.fields.get(name) for name in fields} == fields
    assert same, f"expected {code} {fields}, found {found.code} {found.fields}"


def codes_in(text):
    """Return the codes of the messages in a text, such as what a command has printed."""
    return {code for code, template in MESSAGES.items() if _pattern(template).search(text)}


def _pattern(template):
    parts = ((re.escape(text), "" if name is None else ".*?") for text, name, *_ in Formatter().parse(template))
    return re.compile("".join(part for both in parts for part in both), flags=re.DOTALL)
