"""Two overlapping classes: partitions by n_imp, each beside that with none."""

import pytest

from paper.overlap_2d import _LIMITS

pytestmark = pytest.mark.study


def test_partitions_are_put_beside_that_of_n_imp_0(runs):
    values = runs("overlap_2d").values
    for n_imp in _LIMITS[1:]:
        none, some = values["limit_0.n_iter"], values[f"limit_{n_imp}.n_iter"]
        assert values[f"beside_{n_imp}.fewer"] == [a - b for a, b in zip(none, some, strict=True)]
        sizes = zip(values["limit_0.size"], values[f"limit_{n_imp}.size"], strict=True)
        assert values[f"beside_{n_imp}.larger"] == pytest.approx([b / a for a, b in sizes], rel=1e-5)
