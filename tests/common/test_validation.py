"""What breaks a rule is named, with the rule and the remedy."""

import datetime as dt

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from scattered_fits import in_file, on_cluster, on_device

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier, select_min_trust, select_n_imp
from sepc.common.validation import (
    MISSING,
    as_they_came,
    different_labels,
    joined_kinds,
    kinds_of,
    known_labels,
    labels_of,
    names_of,
    require_labels,
    require_numbers,
    require_share,
    require_two_classes,
    stays_on_device,
    training_set,
)
from sepc.feedback import FeedbackMonitor


@given(st.lists(st.integers(0, 30), min_size=2).filter(lambda y: len(set(y)) > 1), st.sampled_from([int, str, object]))
def test_labels_are_sorted_and_numbered_whether_few_or_many(values, kind):
    y = np.tile(values if kind is int else np.array(values).astype(str), 3).astype(kind)
    classes, codes = labels_of(y)
    expected, numbers = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, numbers)
    assert sorted(different_labels(y).tolist()) == expected.tolist()


def test_names_come_from_frames_with_texts_for_names():
    X = [[1.0, 2.0], [3.0, 4.0]]
    assert training_set(pd.DataFrame(X, columns=["age", "dose"]), [0, 1]).features == ["age", "dose"]
    assert training_set(X, [0, 1]).features == ["x0", "x1"]
    assert names_of(pd.DataFrame(X, columns=["age", "dose"])).tolist() == ["age", "dose"]
    assert names_of(pd.DataFrame(X)) is None
    assert names_of(X) is None


def test_bad_numbers_are_counted_by_column():
    X = np.zeros((3, 8))
    require_numbers(X, None)
    X[0, 1], X[1, 1], X[2, 4] = np.nan, np.inf, -1e200
    with raises("not-finite", kinds="NaN and inf and numbers beyond 1e+150", columns="1 (2 rows), 4 (1 rows)"):
        require_numbers(X, None)
    with raises("not-finite", columns="'b' (2 rows), 'e' (1 rows)"):
        require_numbers(X, list("abcdefgh"))
    X[0] = np.nan
    with raises("not-finite") as caught:
        require_numbers(X, list("abcdefgh"))
    assert caught.value.fields["columns"].endswith("'e' (2 rows) and 3 more columns")


def test_texts_among_the_numbers_are_told_with_a_remedy():
    with raises("text-among-numbers", text="'red'"):
        training_set([["red"], ["blue"]], [0, 1])


def test_one_class_is_too_few():
    require_two_classes(np.array(["a", "b"]))
    with raises("one-class", label="a"):
        training_set([[1.0], [2.0]], ["a", "a"])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_labels_that_must_be_known_are_there(missing):
    assert known_labels([[1.0], [2.0]], [["a"], ["b"]]) == ["a", "b"]
    with raises("labels-missing", name="y_test", n_missing=1, row=1):
        known_labels([[1.0], [2.0]], ["a", missing], "test")
    with raises("labels-shape", what="cal", shape=(1,), n_rows=2):
        known_labels([[1.0], [2.0]], ["a"])
    with raises("no-records", what="cal"):
        known_labels([], [])


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.5, True, "0.5", None, float("nan")])
def test_a_share_lies_strictly_between_0_and_1(value):
    require_share(0.5, "coverage", 0.9)
    with raises("not-strictly-between-0-and-1", name="coverage", example=0.9, value=value):
        require_share(value, "coverage", 0.9)


def test_numpy_arrays_are_no_arrays_of_another_library():
    assert not stays_on_device(np.zeros((2, 2)))


X = np.arange(8.0)[:, None]
TEXTS = list("aaaabbbb")
MIXED = ["a", "a", 1, "a", "b", "b", "b", "b"]
MISSING_LABELS = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]


class TestKinds:
    @pytest.mark.parametrize(
        "labels",
        [
            ["a", "b"],
            [1, 2.5, True, np.int8(3), np.bool_(False)],
            [np.str_("a"), "b"],
            [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
            np.array(["2020", "2021"], dtype="M8[Y]"),
            pd.Series([1, 2], dtype="Int64"),
            pd.Series(["a", "b"], dtype="category"),
            pl.Series(["a", "b"]),
            [[1], [2]],
            [],
        ],
    )
    def test_one_kind_is_accepted(self, labels):
        require_labels(labels)

    @pytest.mark.parametrize("missing", MISSING_LABELS)
    @pytest.mark.parametrize("others", [["a", "b"], [1, 2]])
    def test_a_missing_label_is_named_with_its_row(self, missing, others):
        with raises("labels-missing", name="y_cal", n_missing=2, row=1):
            require_labels([others[0], missing, others[1], missing], "y_cal")

    @pytest.mark.parametrize(
        "labels",
        [
            np.array([0.0, np.nan]),
            np.array(["2020", "NaT"], dtype="M8[Y]"),
            pd.Series([1, None], dtype="Int64"),
            pd.Series(["a", None]),
            pd.Series(["a", None], dtype="category"),
            pl.Series(["a", None]),
            pl.Series([1, None]),
            [["a"], [None]],
        ],
    )
    def test_missing_labels_of_all_containers(self, labels):
        with raises("labels-missing", name="y", n_missing=1, row=1):
            require_labels(labels)

    @pytest.mark.parametrize(
        ("labels", "told"),
        [
            ([1, "a"], {"label": 1, "other": "a", "other_row": 1}),
            (np.array([1, 1, "a"], dtype=object), {"label": 1, "other": "a", "other_row": 2}),
            (pd.Series(["a", np.int64(2), 3]), {"label": "a", "other": 2, "other_row": 1}),
            (["a", b"a"], {"label": "a", "other": b"a", "other_row": 1}),
            ([(1, 2), "a"], {"label": (1, 2), "other": "a", "other_row": 1}),
        ],
    )
    def test_several_kinds_are_named_with_their_rows(self, labels, told):
        with raises("label-kinds-mixed", name="y", row=0, **told):
            require_labels(labels)

    @given(st.lists(st.sampled_from(["a", 1, 2.5, None, float("nan"), True, (1,)]), max_size=12), st.integers(0, 12))
    def test_parts_tell_the_same_as_the_whole(self, labels, cut):
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        cut = min(cut, len(labels))
        whole, parts = kinds_of(array), joined_kinds([kinds_of(array[:cut]), kinds_of(array[cut:], start=cut)])
        assert {name: found[:2] for name, found in whole.items()} == {name: found[:2] for name, found in parts.items()}
        assert sum(found.n for found in whole.values()) == len(labels)
        assert (MISSING in whole) == any(label is None or label != label for label in labels)

    def test_labels_stay_as_they_came(self):
        assert as_they_came([1, "a"]).tolist() == [1, "a"]
        assert as_they_came(np.array([1.5])).dtype == np.float64


WAYS_IN = {
    "a fit": lambda y: SEPClassifier().fit(X, y),
    "a fit of an ensemble": lambda y: SEPEnsembleClassifier(n_estimators=1).fit(X, y),
    "a fit to a file": lambda y: in_file(SEPClassifier(), X, y),
    "a fit on a cluster": lambda y: on_cluster(SEPClassifier(), X, y),
    "a fit with labels on a cluster": lambda y: SEPClassifier().fit(
        da.from_array(X, chunks=(3, 1)), da.from_array(as_they_came(y), chunks=2)
    ),
    "select_n_imp": lambda y: select_n_imp(X, y, candidates=[0]),
    "landscape": lambda y: sepc.landscape(X, y),
    "calibrate": lambda y: SEPClassifier().fit(X, TEXTS).calibrate(X, y),
    "select_min_trust": lambda y: select_min_trust(SEPClassifier().fit(X, TEXTS), X, y, max_error=0.5),
    "observe": lambda y: FeedbackMonitor(SEPClassifier().fit(X, TEXTS)).observe(X, y),
    "report": lambda y: sepc.report(SEPClassifier().fit(X, TEXTS), X, y),
    "metrics": lambda y: sepc.metrics.aurc(y, TEXTS, np.ones(8)),
}


@pytest.mark.usefixtures("small_chunks")
class TestWaysIn:
    @pytest.mark.parametrize("way", WAYS_IN)
    def test_mixed_labels_are_refused(self, way):
        with raises("label-kinds-mixed", label="a", row=0, other=1, other_row=2):
            WAYS_IN[way](MIXED)

    @pytest.mark.parametrize("missing", [None, float("nan"), pd.NaT])
    @pytest.mark.parametrize("way", WAYS_IN)
    def test_missing_labels_are_refused(self, way, missing):
        with raises("labels-missing", n_missing=1, row=5):
            WAYS_IN[way]([*TEXTS[:5], missing, *TEXTS[6:]])

    def test_nan_on_a_device_is_refused(self):
        y = np.array([0.0, 0.0, 0.0, 0.0, 1.0, np.nan, 1.0, 1.0])
        with raises("labels-missing", name="y", n_missing=1, row=5):
            on_device(SEPClassifier(), X, y)

    def test_blocks_of_different_kinds_are_refused(self):
        y = da.from_array(as_they_came([0, 0, 1, 1, *"bbbb"]), chunks=4)
        with raises("label-kinds-mixed", name="y", label=0, row=0, other="b", other_row=4):
            SEPClassifier().fit(da.from_array(X, chunks=(4, 1)), y)
