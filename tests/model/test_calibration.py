"""Laws of a calibration: what no probability exceeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, seeds

from sepc.model.calibration import Calibration
from sepc.model.local_counts import LocalCounts


def calibration(rng, n_classes, local):
    return Calibration(
        temperature=1.5,
        correction=rng.normal(size=n_classes),
        unexplained=rng.uniform(0.0, 0.6),
        level=-3.0,
        class_share=rng.dirichlet(np.ones(n_classes)),
        held_out=np.empty(0),
        local=local,
    )


@given(seeds(), st.integers(2, 4), st.booleans())
@examples(40)
def test_no_probability_exceeds_the_ceiling_of_its_label(seed, n_classes, has_places):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(200, 2))
    counts = rng.integers(0, 9, (3, n_classes)) + (np.arange(n_classes) == 0)
    local = LocalCounts(points[:3], np.full(3, 0.5), counts.astype(float)) if has_places else None
    found = calibration(rng, n_classes, local)
    proba = found.posterior(rng.normal(scale=40.0, size=(200, n_classes)), points=points)
    assert np.all(proba <= found.ceilings() + 1e-12)


@pytest.mark.parametrize("has_places", [False, True])
def test_ceilings_are_reached(has_places):
    rng = np.random.default_rng(0)
    local = LocalCounts(np.zeros((1, 2)), np.ones(1), np.array([[30.0, 0.0, 0.0]])) if has_places else None
    found = calibration(rng, 3, local)
    proba = found.posterior(500.0 * np.eye(3), points=np.zeros((3, 2)))
    assert proba[0, 0] == pytest.approx(found.ceilings()[0])
    assert has_places or np.diag(proba) == pytest.approx(found.ceilings())
