"""Texts for people in tests: what holds of each, and the sentences that depend on a field, whatever their words."""

import re
from dataclasses import replace


def assert_readable(text):
    """Check that a text is whole: sentences without what a template or a missing value leaves behind."""
    assert text.strip() == text != ""
    assert text[-1] in ".)"
    assert not re.search(r"[{}]|  | [.,;:]|\(\)|,,|\.\.", text)
    assert not re.search(r"\b(None|nan|inf|array|np\.\w+)\b", text)


def sentences(why):
    """Return the sentences of an explanation."""
    return [sentence for sentence in why.sentences() if sentence]


def only_with(why, **otherwise):
    """Return the sentences of an explanation that it does not have where these fields are otherwise."""
    others = sentences(replace(why, **otherwise))
    return [sentence for sentence in sentences(why) if sentence not in others]
