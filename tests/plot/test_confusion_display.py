"""Laws of ConfusionDisplay: the matrix is scikit-learn's, with a column for what was not answered."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from drawings import axes
from matplotlib.colors import to_rgb
from sklearn.metrics import confusion_matrix

from sepc.plot import ConfusionDisplay


class TestConfusion:
    def test_it_is_the_usual_matrix_of_the_labels_that_are_given(self, iris):
        clf, X, y = iris
        display = ConfusionDisplay.from_estimator(clf, X[1::2], y[1::2], min_trust=0.0, ax=axes())
        given = clf.assess(X[1::2]).accepted(0.0)
        expected = confusion_matrix(y[1::2][given], clf.predict(X[1::2])[given])
        assert display.matrix[:, :-1].tolist() == expected.tolist()
        assert display.matrix[:, -1].sum() == np.count_nonzero(~given)
        assert display.answered == given.mean() > 0.9
        assert display.right == pytest.approx(clf.score(X[1::2][given], y[1::2][given]))

    @pytest.mark.parametrize("min_trust", [0.95, {"benign": 0.8, "malignant": 0.99}])
    def test_the_last_column_holds_what_was_not_answered(self, cancer, min_trust):
        clf, X, y = cancer
        display = ConfusionDisplay.from_estimator(clf, X[1::2], y[1::2], min_trust=min_trust, ax=axes())
        given = clf.predict_or_abstain(X[1::2], min_trust)
        frame = display.frame()
        for row in frame.itertuples():
            told = np.array([g is None if pd.isna(row.predicted) else g == row.predicted for g in given])
            assert row.value == np.count_nonzero(told & (y[1::2] == row.true))
        assert display.matrix[:, -1].sum() == sum(g is None for g in given) > 0

    def test_classifiers_without_trust_abstain_by_probability(self, cancer, forest):
        _, X, y = cancer
        sure = forest.predict_proba(X[1::2]).max(axis=1)
        for min_trust in (0.9, {"benign": 0.9, "malignant": 0.9}):
            display = ConfusionDisplay.from_estimator(forest, X[1::2], y[1::2], min_trust=min_trust, ax=axes())
            assert display.matrix[:, -1].sum() == np.count_nonzero(sure < 0.9)

    @pytest.mark.parametrize(("normalize", "axis"), [("true", 1), ("pred", 0), ("all", None)])
    def test_shares_sum_to_one(self, normalize, axis):
        y, p = ["a", "a", "b", "b", "b"], ["a", None, "b", "a", None]
        display = ConfusionDisplay.from_predictions(y, p, normalize=normalize, ax=axes())
        assert display.matrix.sum(axis=axis) == pytest.approx(1.0)
        assert display.answered == pytest.approx(0.6)
        assert display.right == pytest.approx(2 / 3)

    @pytest.mark.parametrize(("mark", "label"), [(None, None), (np.nan, None), (-1, -1), ("?", "?")])
    def test_any_mark_may_stand_for_no_label(self, mark, label):
        given = pd.Series([0, mark, 1, 1], dtype=object)
        display = ConfusionDisplay.from_predictions([0, 0, 1, 0], given, abstain_label=label, ax=axes())
        assert display.matrix.tolist() == [[1, 1, 1], [0, 1, 0]]

    def test_labels_that_the_classifier_does_not_know_have_a_row(self, moons):
        clf, X, y = moons
        display = ConfusionDisplay.from_estimator(clf, X, np.where(y == 1, 7, y), min_trust=0.0, ax=axes())
        assert display.classes.tolist() == [0, 1, 7]
        assert display.matrix[1].tolist() == [0, 0, 0, 0]
        assert display.matrix[2].sum() == np.count_nonzero(y == 1)

    @pytest.mark.slow
    def test_numbers_can_be_read_on_every_cell(self):
        y = np.repeat(range(6), [1, 10, 30, 60, 80, 100])
        display = ConfusionDisplay.from_predictions(y, y, ax=axes())

        def luminance(colour):
            rgb = np.array(to_rgb(colour))
            return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

        for i, j in np.ndindex(display.matrix.shape):
            pair = luminance(display.text_[i, j].get_color()), luminance(display.im_.get_array()[i, j, :3])
            assert (max(pair) + 0.05) / (min(pair) + 0.05) > 4.5
            assert display.text_[i, j].get_text() == str(display.matrix[i, j])

    def test_nothing_answered_is_no_error(self):
        display = ConfusionDisplay.from_predictions([0, 1], [None, None], ax=axes())
        assert display.matrix.tolist() == [[0, 0, 1], [0, 0, 1]]
        assert "0 %" in display.ax_.get_xlabel()

    @pytest.mark.parametrize(
        ("arguments", "options", "refusal"),
        [
            (([0, 1], [0]), {}, raises("predictions-length", n_true=2, n_pred=1)),
            (([], []), {}, raises("predictions-length", n_true=0, n_pred=0)),
            (([0, 1], [0, 1]), {"normalize": "rows"}, raises("normalize", normalize="rows")),
            (([0, 1], [0, "?"]), {}, raises("predictions-of-mixed-kinds", labels="0, 1, '?'")),
            (([0, 1], [0, 2]), {"labels": [0, 1]}, raises("label-not-shown", label=2)),
        ],
    )
    def test_bad_input_is_refused(self, arguments, options, refusal):
        with refusal:
            ConfusionDisplay.from_predictions(*arguments, **options, ax=axes())
