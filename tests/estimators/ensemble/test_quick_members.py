"""Quick predictions: the same decisions as by blocks of rows."""

import numpy as np
import pytest


def test_quick_decisions_are_right_but_for_the_last_digits(fitted, asked):
    model = fitted.model_
    far = np.concatenate([asked, 1e3 * asked])
    exact, quick = model.decide(far), model.for_search.decide(far)
    assert quick.proba == pytest.approx(exact.proba, rel=1e-6, abs=1e-12)
    assert quick.typicality == pytest.approx(exact.typicality)
    alone = np.concatenate([model.for_search.decide(x[None]).proba for x in far])
    assert alone == pytest.approx(exact.proba, rel=1e-6, abs=1e-12)
