"""Each experiment runs in its quick form, and its verdicts follow the numbers."""

from math import inf

import pytest

from paper import EXPERIMENTS
from paper.statements import Kind

pytestmark = pytest.mark.study


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_quick_form_gives_every_measure_and_every_statement_a_verdict(runs, name):
    result = runs(name)
    assert result.n_runs == result.experiment.quick <= EXPERIMENTS[name].quick
    assert set(result.values) == set(result.experiment.measures())
    for statement in result.experiment.statements:
        for e in (*statement.expects, *(e for reading in statement.others for e in reading)):
            assert e.measure in result.values
        verdict = statement.verdict(result.values)
        assert verdict.kind in Kind
        assert verdict.sentence.endswith(".")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_changed_number_flips_a_verdict(runs, name):
    result = runs(name)
    n = result.n_runs
    for statement in result.experiment.statements:
        expectations = (*statement.expects, *(e for reading in statement.others for e in reading))
        as_said = {e.measure: n * [e.high if e.low == -inf else e.low] for e in expectations}
        beyond_it = {e.measure: n * [e.low - 1.0 if e.high == inf else e.high + 1.0] for e in expectations}
        assert statement.verdict({**result.values, **as_said}).kind is Kind.MATCHES
        assert statement.verdict({**result.values, **beyond_it}).kind is Kind.DIFFERS
        for e in statement.expects:
            one = {e.measure: beyond_it[e.measure]}
            assert statement.verdict({**result.values, **as_said, **one}).kind is not Kind.MATCHES


def test_every_experiment_has_at_least_20_seeds_in_its_full_form_and_fewer_in_its_quick_one():
    assert all(one.full >= 20 > one.quick for one in EXPERIMENTS.values())
