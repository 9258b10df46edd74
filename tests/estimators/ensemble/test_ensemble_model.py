"""The model of an ensemble."""

import numpy as np
import pytest
from fitted_ensembles import overlapping

from sepc import SEPEnsembleClassifier
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.estimators.ensemble.feature_views import PLAIN, SCORES, STEPS


def test_the_leading_region_counts_records_that_did_not_shape_it(data, fitted, asked):
    X, y = data
    a, model = fitted.assess(asked), fitted.model_
    training = model.views(X)
    for i in range(0, len(asked), 3):
        number, name = a.region[i].split(":")
        member = model.members[int(number[:-1]) - 1]
        part = member.parts["abc".index(number[-1])]
        assert not np.isin(part.out, part.rows).any()
        out = model.records.rows[part.out]
        there = part.densities.claims(part.sees(member.points(training, out))) == part.names.index(name)
        right = y[out] == a.label[i]
        assert a.counts[i].tolist() == [np.count_nonzero(there & right), np.count_nonzero(there & ~right)]


@pytest.fixture(scope="module")
def skewed():
    """Skewed features without ties, and an ensemble that is fitted to them."""
    X, y = overlapping(n=60)
    X = np.exp(X)
    return X, SEPEnsembleClassifier(n_estimators=6).fit(X, y)


def test_a_region_reaches_as_far_in_the_original_units_as_its_ellipsoid_does_in_the_view(skewed):
    X, clf = skewed
    model = clf.model_
    seen = set()
    for m, member in enumerate(model.members):
        view, features = member.plan.view, member.plan.features
        if view == STEPS:
            continue
        smallest, largest = model.views(np.stack([X.min(axis=0), X.max(axis=0)]))[view][:, features]
        for k, part in enumerate(member.parts):
            for c in range(len(part.names)):
                ellipsoids, extent = part.ellipsoids(c), model.extent(m, k, c)
                if not ellipsoids:
                    assert extent is None
                    continue
                lows, highs = zip(
                    *((E.center - E.half_widths, E.center + E.half_widths) for E in ellipsoids), strict=True
                )
                ends = [np.min(lows, axis=0), np.max(highs, axis=0)]
                for end, told, beyond in zip(ends, extent[:2], (ends[0] <= smallest, ends[1] >= largest), strict=True):
                    assert np.array_equal(~np.isfinite(told), beyond)
                    record = np.tile(X[:1], (len(features), 1))
                    record[np.arange(len(features)), features] = np.where(beyond, X[0, features], told)
                    back = model.views(record)[view][np.arange(len(features)), features]
                    assert back[~beyond] == pytest.approx(end[~beyond], abs=1e-9)
                    seen |= {(view, bool(b)) for b in beyond}
    assert seen == {(view, beyond) for view in (PLAIN, SCORES) for beyond in (False, True)}


def test_members_cite_regions_of_the_class_they_are_asked_for_by_the_part_with_the_largest_odds(fitted, asked):
    model = fitted.model_
    rng = np.random.default_rng(0)
    code = rng.integers(3, size=len(asked))
    rival, members = (code + rng.integers(1, 3, size=len(asked))) % 3, rng.integers(6, size=len(asked))
    views, found = model.views(asked), []
    for cited in model.citations(asked, code, rival, members):
        found.extend(cited.rows)
        member = model.members[cited.member]
        points = member.points(views, cited.rows)
        assert np.array_equal(cited.points, member.parts[cited.part].sees(points))
        assert set(members[cited.rows]) == {cited.member}
        assert set(code[cited.rows]) == {cited.code}
        odds = [
            part.opinion(points).log_probability[np.arange(len(cited.rows)), k]
            for part in member.parts
            for k in (code[cited.rows], rival[cited.rows])
        ]
        lead = np.array(odds[::2]) - np.array(odds[1::2])
        assert (lead[cited.part] == lead.max(axis=0)).all()
        part = member.parts[cited.part]
        assert set(part.densities.codes[cited.components]) == {cited.code}
        assert np.array_equal(cited.claimed, part.claimed[cited.components])
    assert sorted(found) == list(range(len(asked)))


def test_an_ensemble_knows_its_members(fitted):
    assert isinstance(fitted.model_, EnsembleModel)
    assert len(fitted.model_.members) == len(fitted.weights_) == 6
