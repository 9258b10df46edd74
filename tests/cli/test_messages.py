"""Texts of commands: each is used, with exactly its fields, and is recognised in what was printed."""

import ast
from pathlib import Path

import pytest
from said import fields_of, said

from sepc.cli import messages
from sepc.cli.messages import MESSAGES, printed

_VALUES = {"percent": 0.25, "of": (3, 12), "many": 1200, "was": 1200, "": "word"}


def example(template):
    """Return values for the fields of a template."""
    fields = {}
    for name, _, spec in fields_of(template):
        if name not in fields or fields[name] == "word":
            fields[name] = _VALUES.get(spec.partition(" ")[0], 1200)
    return fields


def uses():
    """Yield the codes and fields of all messages in the source; None stands for fields that are not spelled out."""
    for path in Path(messages.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("printed", "note", "say") and node.args:
                names = {keyword.arg for keyword in node.keywords}
                yield _codes(node.args[0]), None if None in names else names


def _codes(node):
    """Return the codes that an argument can be; none where it is a variable."""
    if isinstance(node, ast.IfExp):
        return _codes(node.body) + _codes(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) else []


@pytest.mark.parametrize("code", MESSAGES)
def test_a_template_is_formatted_with_its_fields_and_recognised(code):
    fields = example(MESSAGES[code])
    text = printed(code, **fields)
    assert not set("{}") & set(text)
    assert "  " not in text
    found = said(f"note: {text}\n")[code]
    assert {name: value for name, value in vars(found).items() if name != "all"} == fields


@pytest.mark.parametrize(
    ("template", "value", "text"),
    [
        ("{n:many row}", 1, "1 row"),
        ("{n:many row}", 1200, "1,200 rows"),
        ("{n:was}", 1, "was"),
        ("{n:verb repeat}", 1, "repeats"),
        ("{n:verb repeat}", 2, "repeat"),
        ("{n:least}", 0.840766497230694, "0.8408"),
        ("{n:was}", 2, "were"),
        ("{n:of}", (3, 12), "3 of 12 (25 %)"),
        ("{n:of}", (0, 0), "none"),
        ("{n:percent}", 0.9999, "over 99.9 %"),
        ("{n:.2g}", 0.123, "0.12"),
        ("{n!r}", "a", "'a'"),
    ],
)
def test_formats_of_fields(template, value, text, monkeypatch):
    monkeypatch.setitem(MESSAGES, "tried", template)
    assert printed("tried", n=value) == text


def test_each_message_is_used_with_exactly_its_fields():
    used = list(uses())
    assert {code for codes, _ in used for code in codes} == set(MESSAGES)
    for codes, names in used:
        wanted = {name for code in codes for name, _, _ in fields_of(MESSAGES[code])}
        assert names is None or names == wanted, codes
