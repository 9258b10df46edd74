"""Whether the machine code of a kernel is on disk."""

import os
import sys
from importlib import import_module

import numba
import pytest

from sepc.geometry.compilation import is_kept, is_on_disk

SOURCE = """
from sepc.geometry.compilation import kernel

@kernel
def twice(x):
    return 2 * x
"""


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="no compiler")
def test_machine_code_is_on_disk_from_the_first_call_on_until_the_source_changes(tmp_path, monkeypatch):
    path = tmp_path / "one_kernel.py"
    path.write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    twice = import_module("one_kernel").twice
    monkeypatch.delitem(sys.modules, "one_kernel")
    assert is_kept(twice)
    assert not is_on_disk(twice)
    assert twice(3) == 6
    assert is_on_disk(twice)
    later = path.stat().st_mtime + 3600.0
    os.utime(path, (later, later))
    assert not is_on_disk(twice)


def test_a_function_that_is_not_compiled_needs_no_compiler():
    assert is_kept(len)
    assert is_on_disk(len)
