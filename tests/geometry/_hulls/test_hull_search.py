"""The search for the nearest points among many: what samples and thinned sets show is certified on all points."""

import numpy as np
import pytest
from hull_pairs import check

from sepc.geometry._hulls import hull_search
from sepc.geometry._hulls.smooth_hulls import Undecided
from sepc.geometry.hulls import nearest_points


@pytest.mark.parametrize(("extra", "close"), [(-0.5, 1e-3), (0.1, 0.05)])
def test_some_of_many_points_show_whether_hulls_meet(extra, close, monkeypatch):
    """Two translates of a set: as far apart as their reduced hulls are wide, less some, or some more called close."""
    monkeypatch.setattr(hull_search, "CLOSE", close)
    A = np.random.default_rng(0).standard_normal((20_000, 3))
    cap = 1.3 / len(A)
    wide = np.sort(A[:, 0])
    k = round(1.0 / cap)
    B = A + np.array([wide[-k:].mean() - wide[:k].mean() + extra, 0.0, 0.0])
    thinned = []
    thin_out = Undecided._thin_out

    def watched(self):
        thin_out(self)
        thinned.append(self.is_thinned)

    monkeypatch.setattr(Undecided, "_thin_out", watched)
    pair = nearest_points(A, B, cap)
    check(pair, A, B)
    assert any(thinned)
    assert pair.meet == (extra < 0.0)
    monkeypatch.setattr(Undecided, "_thin_out", lambda _: None)
    unhurried = nearest_points(A, B, cap)
    assert unhurried.meet == pair.meet
    if not pair.meet:
        np.testing.assert_array_equal(pair.normal, unhurried.normal)
