"""Tables with gaps: findings speak of the values that are there, and missingness is a finding of its own."""

import numpy as np
import pandas as pd
import pytest

from sepc import landscape
from sepc.tables import TableEncoder
from sepc.tables.columns import features_by_column

N = 400
OF_GAPS = {"missing-values", "missing-together", "missing-by-label"}


def view_of(frame, y, keep_gaps=True):
    encoder = TableEncoder(keep_gaps=keep_gaps).fit(frame)
    features = encoder.transform(frame)
    return landscape(features, y, columns=features_by_column(encoder.columns_, features.columns.tolist()))


def told(view):
    return {finding.code: finding for finding in view.findings}


@pytest.fixture
def questionnaire():
    """Two overlapping classes in two numbers, and two unrelated yes or no questions."""
    rng = np.random.default_rng(5)
    y = np.where(rng.random(N) < 0.4, "ill", "well")
    frame = pd.DataFrame(rng.normal(size=(N, 2)) + (y == "ill")[:, None], columns=["age", "weight"])
    for name in ("wc", "hc"):
        frame[name] = rng.choice(["yes", "no"], N)
    return frame, y


class TestOneRowWithTwoEmptyCells:
    @pytest.fixture
    def gappy(self, questionnaire):
        frame, y = questionnaire
        gappy = frame.copy()
        gappy.loc[17, ["wc", "hc"]] = None
        return gappy, y

    @pytest.mark.parametrize("keep_gaps", [True, False])
    def test_the_columns_are_not_said_to_say_the_same(self, gappy, keep_gaps):
        assert not any("say the same" in finding.title for finding in view_of(*gappy, keep_gaps).findings)

    def test_that_they_are_missing_together_is_a_finding(self, gappy):
        found = told(view_of(*gappy))
        assert set(found) == {"missing-values", "missing-together"}
        assert found["missing-together"].title == "wc and hc are missing together in 1 row"
        assert found["missing-values"].evidence.startswith("1 of 400 records lacks a value: wc in 1 ")

    def test_the_overlap_ratio_stays(self, questionnaire, gappy):
        whole, with_gap = (view_of(*data).overlaps[0] for data in (questionnaire, gappy))
        assert with_gap.ovr == pytest.approx(whole.ovr, rel=0.1)
        assert min(whole.ovr) > 0.01


@pytest.mark.parametrize("n_gaps", [1, 12, 100])
def test_gaps_of_one_class_alone_do_not_flatten_the_other(questionnaire, n_gaps):
    frame, y = questionnaire
    whole = view_of(frame, y)
    ill = np.flatnonzero(y == "ill")[:n_gaps]
    frame.loc[ill, ["wc", "hc"]] = None
    frame.loc[ill, "weight"] = np.nan
    view = view_of(frame, y)
    assert view.n_features == whole.n_features  # no feature tells where values are missing
    assert min(view.overlaps[0].ovr) > 0.1 * min(whole.overlaps[0].ovr)


def test_columns_that_say_the_same_where_both_are_known_are_told():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=N)
    frame = pd.DataFrame({"x": rng.normal(size=N) + y, "a": rng.choice(["u", "v"], N)})
    frame["b"] = frame["a"].map({"u": "U", "v": "V"})
    frame.loc[::7, "a"] = None
    finding = told(view_of(frame, y))["linear-dependence"]
    assert (finding.title, finding.severity) == ("a and b say the same", "warning")
    assert "every record with all of these values" in finding.evidence


def test_a_sum_is_found_among_records_with_gaps_and_refuted_by_one_known_record():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 50, (N, 2)).astype(float), columns=["a", "b"])
    frame["c"] = frame["a"] + frame["b"]
    frame["d"] = rng.normal(size=N)
    y = rng.integers(2, size=N)
    frame.loc[::5, "a"] = np.nan
    frame.loc[1::5, "d"] = np.nan
    assert told(landscape(frame, y))["linear-dependence"].evidence.startswith("c = a + b, for every record with all")
    frame.loc[1, "c"] += 3.0  # a record without d, in which a, b and c are known
    assert "linear-dependence" not in told(landscape(frame, y))


def test_two_rare_answers_in_the_same_row_are_no_dependence():
    rng = np.random.default_rng(0)
    rare = (np.arange(N) == 3).astype(float)
    X = np.column_stack([rng.normal(size=(N, 2)), rare, rare])
    assert "linear-dependence" not in told(landscape(X, rng.integers(2, size=N)))


def test_cells_that_are_filled_are_no_contradictions():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(N) < 0.5, "a", "b")
    frame = pd.DataFrame({"lab": rng.normal(size=N), "site": rng.choice(["p", "q"], N)})
    frame.loc[rng.random(N) < 0.4, "lab"] = np.nan
    assert frame[frame["lab"].isna()].assign(y=y[frame["lab"].isna()]).drop_duplicates().shape[0] == 4
    view = view_of(frame, y)
    assert view.contradictions == ()
    assert set(told(view)) & {"contradictory-duplicates", "contradictions-in-subgroup"} == set()
    frame.loc[[0, 1]] = [[0.5, "p"]] * 2
    y[:2] = ["a", "b"]
    assert view_of(frame, y).contradictions == ((0, 1),)


def test_records_with_gaps_take_no_part_in_the_contradictions_of_a_subgroup():
    rng = np.random.default_rng(1)
    y = np.arange(600) % 2
    group = rng.integers(3, size=600)
    frame = pd.DataFrame({"x": 6.0 * y + rng.normal(size=600), "group": group.astype(float)})
    frame.loc[group == 2, "x"] = np.where(rng.random(np.count_nonzero(group == 2)) < 0.7, np.nan, 0.0)
    frame.loc[(group == 2) & frame["x"].notna(), "x"] = 6.0 * y[(group == 2) & frame["x"].notna()]
    assert "contradictions-in-subgroup" not in told(landscape(frame, y))


class TestMissingnessThatDependsOnTheLabel:
    def test_is_a_warning_with_both_shares(self, questionnaire):
        frame, y = questionnaire
        rng = np.random.default_rng(0)
        frame.loc[rng.random(N) < np.where(y == "ill", 0.4, 0.1), "weight"] = np.nan
        finding = told(view_of(frame, y))["missing-by-label"]
        assert finding.severity == "warning"
        share = frame["weight"].isna()[y == "ill"].mean()
        assert f"weight in {100 * share:.1f}".removesuffix(".0") in finding.evidence

    def test_chance_is_none(self, questionnaire):
        frame, y = questionnaire
        for seed in range(30):
            gaps = np.random.default_rng(seed).random(frame.shape) < 0.1
            assert "missing-by-label" not in told(view_of(frame.mask(gaps), y))

    def test_a_leak_by_gaps_is_told_by_its_column(self, questionnaire):
        frame, y = questionnaire
        frame["written_off"] = np.where(y == "ill", 7.5 * frame["age"], np.nan)
        finding = told(view_of(frame, y))["label-leak"]
        assert finding.title == "written_off equals the label by where it is missing"
        assert finding.evidence.startswith("Whether written_off is missing tells the label of all 400 records")


def test_a_leak_is_found_among_known_values():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=N)
    frame = pd.DataFrame({"x": rng.normal(size=N), "copy": np.where(rng.random(N) < 0.3, np.nan, 10.0 * y)})
    n = int(frame["copy"].notna().sum())
    assert (
        f"copy alone tells the label of all {n} records that have a value there"
        in told(landscape(frame, y))["label-leak"].evidence
    )


def test_an_id_with_gaps_is_an_id():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=N), "number": np.arange(N, dtype=float)})
    frame.loc[::9, "number"] = np.nan
    assert "id-as-feature" in told(landscape(frame, rng.integers(2, size=N)))


def test_complete_data_has_no_such_finding(questionnaire):
    assert set(told(view_of(*questionnaire))) & OF_GAPS == set()
