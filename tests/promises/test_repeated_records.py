"""Training records and copies among calibration records."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from scipy.stats import binom

from sepc import SEPClassifier, SEPEnsembleClassifier, load, make_table_pipeline, save, select_min_trust
from sepc.feedback import FeedbackMonitor
from sepc.model import row_digests
from sepc.model.row_digests import are_known, kept_digests


class Surest:
    """A fitted classifier whose records are (trust, something): it always says 1."""

    classes_ = np.array([0, 1])

    def trust_score(self, X):
        return np.asarray(X)[:, 0]

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def draw(rng, n):
    """Records whose labels are wrong in a little more than one of ten cases, at any trust."""
    return rng.random((n, 2)), (rng.random(n) > 0.101).astype(int)


def patients(n, seed, digits=6):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    return (rng.normal(size=(n, 2)) + 2.0 * y[:, None]).round(digits), y


def test_copies_void_no_promise():
    rng, runs = np.random.default_rng(0), 200
    broken = 0
    for _ in range(runs):
        X, y = draw(rng, 60)
        found = select_min_trust(Surest(), np.repeat(X, 5, axis=0), np.repeat(y, 5), max_error=0.1)
        assert found.n_calibration == 60
        broken += found.is_kept
    assert broken <= binom.isf(1e-4, runs, 0.05)


def test_copies_count_once_in_any_order_and_whatever_their_number():
    X, y = draw(np.random.default_rng(1), 200)
    once = select_min_trust(Surest(), X, y, max_error=0.2)
    assert once.note == ""
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(200), np.arange(200) % 4 + 1))
    found = select_min_trust(Surest(), X[rows], y[rows], max_error=0.2)
    assert "(300) count once" in found.note
    assert (found.min_trust, found.n_calibration, found.n_errors) == (once.min_trust, 200, once.n_errors)
    other = select_min_trust(Surest(), X[rows[::-1]], y[rows[::-1]], max_error=0.2)
    assert other == found
    by = np.where(np.arange(200) % 2, "north", "south")
    assert select_min_trust(Surest(), X[rows], y[rows], max_error=0.3, by=by[rows]).n_calibration == 200


def test_equal_records_of_few_values_all_count():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, size=(300, 2)) / 4 + 0.1
    found = select_min_trust(Surest(), X, np.ones(300, dtype=int))
    assert (found.n_calibration, found.n_accepted) == (300, 300)
    assert "that is ordinary" in found.note
    assert "that is ordinary" in repr(found)


def test_texts_of_a_stranger_are_compared_too():
    class Stranger(Surest):
        def trust_score(self, X):
            return np.full(len(X), 0.9)

    names = pd.DataFrame({"name": [f"patient {k}" for k in range(80)] * 2, "sex": ["f", "m"] * 80})
    assert select_min_trust(Stranger(), names, np.ones(160, dtype=int)).n_calibration == 80


@pytest.mark.parametrize("make", [SEPClassifier, lambda: SEPEnsembleClassifier(n_estimators=2, random_state=0)])
def test_training_records_are_refused_also_of_a_file_without_them(make, tmp_path):
    X, y = patients(200, 0)
    clf = make().fit(X, y)
    save(clf, tmp_path / "m.sepc", training_rows=False)
    new, truth = patients(300, 1)
    for model in (clf, load(tmp_path / "m.sepc")):
        assert model.has_learned(np.vstack([X[:3], new[:2]])).tolist() == [True] * 3 + [False] * 2
        assert select_min_trust(model, new, truth, max_error=0.2).note == ""
        with raises("calibration-records-learned", n=1, n_records=301, rows=[300]):
            select_min_trust(model, np.vstack([new, X[7]]), np.append(truth, y[7]))


def test_of_few_values_training_records_are_no_surprise():
    X, y = patients(200, 0, digits=0)
    clf = SEPClassifier().fit(X, y)
    found = select_min_trust(clf, *patients(300, 1, digits=0), max_error=0.3)
    assert "equal training records" in found.note
    assert found.n_calibration == 300


def test_tables_and_gaps_are_compared_as_the_model_reads_them():
    X, y = patients(200, 0)
    table = pd.DataFrame(X, columns=["age", "dose"]).assign(name=[f"patient {k}" for k in range(200)])
    table.loc[::5, "dose"] = None
    model = make_table_pipeline().fit(table, y)
    new, truth = patients(300, 1)
    cal = pd.DataFrame(new, columns=["age", "dose"]).assign(name="nobody")
    found = select_min_trust(model, cal, truth, max_error=0.3)
    assert (found.n_calibration, found.note) == (300, "")
    with raises("calibration-records-learned", n=20):
        select_min_trust(model, pd.concat([cal, table[:20].assign(name="anew")]), np.append(truth, y[:20]))


def test_a_refit_knows_the_old_records_and_the_new_ones():
    X, y = patients(120, 0)
    new, truth = patients(60, 1)
    refitted, _ = FeedbackMonitor(SEPClassifier().fit(X, y)).observe(new, truth).repartition()
    assert refitted.has_learned(np.vstack([X, new])).all()


def test_digests_are_those_of_the_values_alone():
    X = np.array([[0.0, np.nan], [1.0, 2.0], [1.0, 2.0]])
    digests = kept_digests(X)
    assert digests.nbytes == 16
    same = np.array([[-0.0, -np.nan], [1.0, 2.0], [1.0, np.nextafter(2.0, 3.0)]])
    assert are_known(digests, same).tolist() == [True, True, False]
    assert np.array_equal(kept_digests(X[::-1]), digests)


def test_of_too_many_records_there_are_none_and_the_promise_says_so(monkeypatch):
    monkeypatch.setattr(row_digests, "MOST_DIGESTS", 100)
    clf = SEPClassifier().fit(*patients(200, 0))
    assert clf.has_learned([[0.0, 0.0]]) is None
    assert "Not checked" in select_min_trust(clf, *patients(300, 1), max_error=0.3).note


def test_records_without_a_value_in_the_columns_of_many_values_all_count():
    rng = np.random.default_rng(4)

    def sensors(n):
        y = (rng.random(n) < 0.4).astype(int)
        frame = pd.DataFrame({"heat": rng.normal(size=n) + 4.0 * y, "mode": rng.choice(["auto", "hand"], n)})
        frame.loc[: n // 10, "heat"] = np.nan
        return frame, y

    clf = make_table_pipeline(SEPClassifier()).fit(*sensors(120))
    frame, y = sensors(100)
    found = select_min_trust(clf, frame, y, max_error=0.3)
    assert found.n_calibration == 100
    assert "Equal records" in found.note
    assert "equal training records (11)" in found.note
    twice = pd.concat([frame, frame[90:]]), np.append(y, y[90:])
    again = select_min_trust(clf, *twice, max_error=0.3)
    assert again.n_calibration == 100
    assert "(10) count once" in again.note
