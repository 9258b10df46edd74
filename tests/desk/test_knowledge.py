"""What a desk's decisions add up to: counts, audits, the promise and agreement, by planted decisions."""

import numpy as np
import pytest
from desks import classifier, decide_all, new_desk, records, truth
from sklearn.metrics import cohen_kappa_score

from sepc import select_min_trust
from sepc.common.intervals import exact_interval
from sepc.desk.knowledge import summary
from sepc.desk.views import CANNOT_TELL, POSTPONE


def signed(**terms):
    """Return the classifier with a promise."""
    clf = classifier().under()
    return clf.sign(select_min_trust(clf, *records(400, seed=5), **terms))


def always(label):
    return lambda _: label


def test_a_desk_without_decisions_knows_nothing(tmp_path):
    found = summary(new_desk(tmp_path))
    assert found["decided"] == {"records": 0, "accept": 0, "override": 0, "cannot tell": 0}
    assert found["promise"] is None
    assert found["audits"]["share"] is None
    assert found["audits"]["waiting"] > 0
    assert found["agreement"]["kappa"] is None


def test_overrides_are_counted_by_label_region_and_model(tmp_path):
    desk = new_desk(tmp_path)
    decide_all(desk, "ada", always("ill"))
    found, n_well = summary(desk), desk.events.one("SELECT count(*) FROM queue WHERE label = 'well'")
    assert found["decided"]["override"] == n_well > 0
    assert {one["name"]: one["hits"] for one in found["labels"]} == {"well": n_well, "ill": 0}
    for part in ("labels", "regions", "models"):
        assert sum(one["n"] for one in found[part]) == found["decided"]["records"]
        assert sum(one["hits"] for one in found[part]) == n_well
    well = found["labels"][0]
    assert (well["low"], well["high"]) == exact_interval(well["hits"], well["n"])


def test_audits_count_wrong_labels_of_the_sample_alone(tmp_path):
    desk = new_desk(tmp_path, audit=0.4)
    audits = desk.events.rows("SELECT record, label, row FROM queue WHERE is_audit")
    decide_all(desk, "ada", truth(desk))
    found = summary(desk)["audits"]
    assert found["n"] == len(audits)
    assert found["hits"] == sum(row["label"] != desk.truth[row["row"] - 1] for row in audits)
    assert sum(part["n"] for part in found["by_label"]) == found["n"]


@pytest.mark.parametrize(("by", "parts"), [(None, ["all labels"]), ("label", ["ill", "well"])])
def test_a_promise_holds_while_the_audits_do_not_refute_it(tmp_path, by, parts):
    desk = new_desk(tmp_path, clf=signed(max_error=0.1, by=by), audit=0.5)
    assert summary(desk)["promise"]["holds"] is None
    decide_all(desk, "ada", lambda record: record.view["label"])
    found = summary(desk)["promise"]
    assert found["holds"] is True
    assert [part["name"] for part in found["parts"]] == parts
    assert [part["limit"] for part in found["parts"]] == [0.1] * len(parts)


def test_a_promise_is_refuted_in_the_label_whose_audits_are_wrong(tmp_path):
    desk = new_desk(tmp_path, clf=signed(max_error=0.1, by="label"), audit=0.5)
    decide_all(desk, "ada", always("ill"))
    found = summary(desk)["promise"]
    assert found["holds"] is False
    assert {part["name"]: part["holds"] for part in found["parts"]} == {"ill": True, "well": False}


def test_a_promise_on_costs_is_compared_with_the_mean_cost_of_audits(tmp_path):
    costs = {"ill": {"well": 10.0}, "well": {"ill": 1.0}}
    clf = signed(max_cost=2.0, costs=costs)
    desk = new_desk(tmp_path, clf=clf, audit=0.5)
    decide_all(desk, "ada", always("ill"))
    (part,) = summary(desk)["promise"]["parts"]
    rows = desk.events.rows("SELECT label FROM queue WHERE is_audit")
    assert part["cost"] == pytest.approx(np.mean([10.0 * (row["label"] == "well") for row in rows]))
    assert part["holds"] is (part["cost"] <= 2.0)


def test_agreement_is_that_of_the_first_opinions_of_two_people(tmp_path):
    desk = new_desk(tmp_path, second=1.0, n=80)
    numbers = decide_all(desk, "ada", lambda record: record.view["label"])
    decide_all(desk, "ben", always("ill"))
    labels = dict(desk.events.rows("SELECT record, model_label FROM decisions WHERE person = 'ada'"))
    found = summary(desk)["agreement"]
    assert found["n"] == len(numbers)
    assert found["hits"] == sum(label == "ill" for label in labels.values())
    assert found["kappa"] == pytest.approx(cohen_kappa_score([labels[n] for n in numbers], ["ill"] * len(numbers)))
    # Another thought of one of them is no first opinion.
    desk.undo("ben")
    assert summary(desk)["agreement"] == found


def test_people_are_counted_by_what_they_did(tmp_path):
    desk = new_desk(tmp_path)
    first, second, third = (row["record"] for row in desk.events.rows("SELECT record FROM queue LIMIT 3"))
    desk.hold("ada", first)
    desk.decide("ada", first, "accept")
    desk.decide("ada", second, CANNOT_TELL)
    desk.decide("ada", third, POSTPONE)
    desk.decide("ben", third, "accept")
    desk.undo("ben")
    ada, ben = summary(desk)["people"]
    assert {name: ada[name] for name in ("accept", CANNOT_TELL, POSTPONE, "undone")} == {
        "accept": 1,
        CANNOT_TELL: 1,
        POSTPONE: 1,
        "undone": 0,
    }
    assert ada["seconds"] >= 0.0
    assert (ben["accept"], ben["undone"], ben["seconds"]) == (0, 1, None)
