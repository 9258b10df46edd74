"""Public names of geometry and of partitions are resolved on first use."""

import importlib

import pytest


@pytest.mark.parametrize("name", ["sepc.geometry", "sepc.partitions"])
def test_every_public_name_resolves(name):
    module = importlib.import_module(name)
    assert {getattr(module, one).__name__ for one in module.__all__} == set(module.__all__)
    assert set(module.__all__) <= set(dir(module))
