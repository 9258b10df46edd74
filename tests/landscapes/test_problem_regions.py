"""Overlaps of regions: exactly the pairs that meet."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from landscape_data import gaussians
from strategies import examples, labelled_points

from sepc import SEPClassifier
from sepc.geometry import separate


class TestOverlaps:
    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @examples(25)
    @given(labelled_points())
    def test_it_has_exactly_the_pairs_that_meet(self, data):
        A, B, n_imp = data
        clf = SEPClassifier(n_imp=n_imp).fit(np.vstack([A, B]), np.repeat(["a", "b"], [len(A), len(B)]))
        rules = clf.model_.rules[0]
        g = clf.landscape_.graph
        found = {(a, b): (n, m) for a, b, n, m in zip(g.region_a, g.region_b, g.n_common, g.margin, strict=True)}
        for i, j in combinations(range(len(rules.names)), 2):
            pair = rules.names[i], rules.names[j]
            verdict = separate(rules.stack[i], rules.stack[j])
            common = len(np.intersect1d(rules.members(i), rules.members(j)))
            if verdict.disjoint and not common:
                assert pair not in found
            else:
                assert found[pair] == (common, verdict.margin)

    @pytest.mark.slow
    @pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e100])
    def test_it_does_not_depend_on_the_unit(self, scale):
        X, y, _, _ = gaussians(4)
        one, two = (SEPClassifier(standardize=False).fit(Z, y).landscape_.graph for Z in (X, scale * X))
        shared = ["region_a", "region_b", "n_common"]
        pd.testing.assert_frame_equal(one[shared], two[shared])
        assert one.margin.to_numpy() == pytest.approx(two.margin.to_numpy(), abs=1e-4)
