"""What a command has said: the messages in a text, recognised by their templates, and their fields."""

import re
from collections import defaultdict
from string import Formatter
from types import SimpleNamespace

from sepc.cli.messages import MESSAGES

_COUNT, _NUMBER = r"\d[\d,]*", r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
_SHARE = r"(?:under |over )?[\d.]+ %"
# By the kind of a field's format: what it looks like. Others are numbers, or texts if there is no format.
_LOOKS = {
    "percent": _SHARE,
    "of": rf"{_COUNT} of {_COUNT} \({_SHARE}\)|none",
    "many": rf"{_COUNT} \w+",
    ",": _COUNT,
    "": ".*?",
}


def said(text):
    """Return the messages in what was printed: by code, the fields of the first one, and in `all` those of each.

    A count is an int, a share a float, as far as it is printed, and a pair of counts a tuple.
    """
    lines = re.sub(r"^(?:note: |sepc(?: \w+)?: )", "", text, flags=re.MULTILINE)
    found = defaultdict(list)
    for code, template in MESSAGES.items():
        pattern, kinds = _pattern(template)
        for match in re.finditer(pattern, lines, re.MULTILINE):
            fields = {name: _value(value, kinds[name]) for name, value in match.groupdict().items()}
            found[code].append(SimpleNamespace(**fields))
    return {code: SimpleNamespace(**vars(fields[0]), all=fields) for code, fields in found.items()}


def fields_of(template):
    """Return the fields of a template, each with its conversion and its format."""
    return [(name, conversion, spec) for _, name, spec, conversion in Formatter().parse(template) if name is not None]


def _pattern(template):
    """Return a regular expression for a template, and the kind of each field."""
    pattern, kinds = "", {}
    for literal, name, spec, conversion in Formatter().parse(template):
        pattern += re.escape(literal)
        if name is None:
            continue
        kind = "repr" if conversion == "r" else spec.partition(" ")[0]
        if kind == "was":
            pattern += "(?:was|were)"
        elif kind == "verb":
            pattern += f"{spec.partition(' ')[2]}s?"
        elif name in kinds:
            pattern += f"(?P={name})"
        else:
            kinds[name] = kind
            pattern += f"(?P<{name}>{_LOOKS.get('' if kind == 'repr' else kind, _NUMBER)})"
    ends_in_text = template.endswith("}") and kinds[fields_of(template)[-1][0]] in ("", "repr")
    end = "$" if ends_in_text else r"(?=\s|$)" if template.endswith(".") else ""
    return rf"(?<![\w,]){pattern}{end}", kinds


def _value(text, kind):
    if kind == "of":
        return (0, 0) if text == "none" else tuple(map(_number, text.partition(" (")[0].split(" of ")))
    if kind == "percent":
        return _number(text.removesuffix(" %").split()[-1]) / 100
    if kind == "many":
        return _number(text.split()[0])
    if kind == "repr":
        return text[1:-1]
    return _number(text) if re.fullmatch(_NUMBER, text) else text


def _number(text):
    plain = text.replace(",", "")
    return int(plain) if plain.lstrip("-").isdigit() else float(plain)
