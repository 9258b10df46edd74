"""Jinja templates of all pages."""

import sys

import jinja2
import pytest
from coded import raises

from sepc import SepcError
from sepc.common.templates import template_environment


def test_pages_escape_texts_and_other_templates_do_not():
    environment = template_environment("sepc.reports", {"twice": lambda text: 2 * text}, "a page")
    pages = {"page.html.j2": "{{ text|twice }}\n", "page.md.j2": "{{ text|twice }}\n"}
    environment.loader = jinja2.DictLoader(pages)
    assert environment.get_template("page.html.j2").render(text="<") == "&lt;&lt;\n"
    assert environment.get_template("page.md.j2").render(text="<") == "<<\n"


def test_what_a_template_does_not_know_is_an_error():
    environment = template_environment("sepc.reports", {}, "a page")
    with pytest.raises(jinja2.UndefinedError):
        environment.from_string("{{ unknown }}").render()


def test_without_jinja2_it_is_said_what_needs_it_and_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with raises("template-engine-missing", SepcError, needed_for="a page"):
        template_environment("sepc.reports", {}, "a page")
    with raises("template-engine-missing", SepcError, otherwise=" A text does not."):
        template_environment("sepc.reports", {}, "a page", "A text does not.")
