"""Tables of the results of each label."""

from said import said

from sepc.cli.label_tables import label_lines
from sepc.metrics import class_report


def results(truth, given):
    return [one._asdict() for one in class_report(truth, given, accepted=[True] * len(truth))]


def test_one_model_has_all_columns():
    (told,) = label_lines({"": results(["a", "a", "b"], ["a", "a", "a"])})
    head, a, b = told.splitlines()
    assert head.split("  ")[-1] == "of these right"
    assert a.split() == ["a", "2", "3", "100", "%", "66.7", "%", "3", "2"]
    assert b.split() == ["b", "1", "0", "0", "%", "0", "0"]


def test_models_stand_side_by_side_and_may_know_other_labels():
    two = {"A": results(["a", "b"], ["a", "a"]), "B": results(["a", "c"], ["c", "c"])}
    (told,) = label_lines(two, ("recall",))
    assert [line.split() for line in told.splitlines()] == [
        ["label", "rows", "recall", "A", "recall", "B"],
        ["a", "1", "100", "%", "0", "%"],
        ["b", "1", "0", "%"],
        ["c", "1", "100", "%"],
    ]


def test_of_many_labels_those_with_the_lowest_recall_are_shown():
    labels = [f"l{k:02}" for k in range(30)]
    table, more = label_lines({"": results(labels, [*labels[1:15], *labels[14:]])})
    shown = [line.split()[0] for line in table.splitlines()[1:]]
    assert shown[:14] == labels[:14]
    assert len(shown) == 20
    assert said(more)["more-labels"].n == 10
