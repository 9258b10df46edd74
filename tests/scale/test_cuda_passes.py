"""Passes over points on CUDA devices: what needs none of them."""

import numpy as np
import pytest
from scattered import close

from sepc.scale.cuda_passes import _from_tiles


@pytest.mark.parametrize("d", [1, 2, 3, 8, 9])
def test_products_of_pairs_of_columns_make_a_matrix(d):
    rows = np.zeros((20, d + d % 2))
    rows[:, :d] = np.random.default_rng(d).standard_normal((20, d))
    pairs = [rows[:, k : k + 2] for k in range(0, d, 2)]
    tiles = [(first.T @ second).ravel() for k, first in enumerate(pairs) for second in pairs[: k + 1]]
    close(_from_tiles(np.concatenate(tiles), d), rows[:, :d].T @ rows[:, :d])
