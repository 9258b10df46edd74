"""The message of a first fit."""

import pytest
from said import said

from sepc.cli.compiling import say_if_compiling
from sepc.geometry import compilation


@pytest.mark.parametrize(
    ("is_on_disk", "is_kept", "code"),
    [(True, True, None), (False, True, "compiling"), (False, False, "compiling-each-time")],
)
def test_it_is_said_that_a_command_compiles_and_how_often(is_on_disk, is_kept, code, monkeypatch, capsys):
    monkeypatch.setattr(compilation, "is_on_disk", lambda _: is_on_disk)
    monkeypatch.setattr(compilation, "is_kept", lambda _: is_kept)
    say_if_compiling()
    told = said(capsys.readouterr().err)
    assert {"compiling", "compiling-each-time"} & set(told) == ({code} if code else set())
