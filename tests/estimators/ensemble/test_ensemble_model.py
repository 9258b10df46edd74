"""The model of an ensemble."""

import numpy as np

from sepc.estimators.ensemble.ensemble_model import EnsembleModel


def test_the_leading_region_counts_records_that_did_not_shape_it(data, fitted, asked):
    X, y = data
    a, model = fitted.assess(asked), fitted._model
    training = model.views(X)
    for i in range(0, len(asked), 3):
        number, name = a.region[i].split(":")
        member = model.members[int(number[:-1]) - 1]
        part, plan = member.parts["abc".index(number[-1])], member.plan
        assert not np.isin(part.out, part.rows).any()
        out = model.records.rows[part.out]
        there = part.densities.claims(training[plan.view][out][:, plan.features]) == part.names.index(name)
        right = y[out] == a.label[i]
        assert a.counts[i].tolist() == [np.count_nonzero(there & right), np.count_nonzero(there & ~right)]


def test_an_ensemble_knows_its_members(fitted):
    assert isinstance(fitted._model, EnsembleModel)
    assert len(fitted._model.members) == len(fitted.weights_) == 6
