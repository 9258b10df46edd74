"""A model that was saved without its training records gets them back from the table that holds them, or an error."""

import numpy as np
import pandas as pd
from coded import raises
from desks import classifier, records

from sepc import load, make_table_pipeline, save, select_min_trust
from sepc.desk.training_records import lacks_training_records, with_training_records


def saved_without_records(clf, folder):
    save(clf, folder / "without.sepc", training_rows=False)
    return load(folder / "without.sepc")


def test_a_table_gives_a_model_its_training_records_back(tmp_path):
    clf = classifier().under()
    clf = saved_without_records(clf.sign(select_min_trust(clf, *records(400, seed=5), max_error=0.2)), tmp_path)
    (X, y), (others, labels) = records(300), records(100, seed=9)
    whole = with_training_records(clf, pd.concat([others, X]), np.concatenate([labels, y]))
    assert lacks_training_records(clf)
    assert not lacks_training_records(whole)
    assert whole.promise == clf.promise
    assert (whole.trust_score(records(50, 7)[0]) == clf.trust_score(records(50, 7)[0])).all()


def test_a_pipeline_keeps_its_encoder(tmp_path):
    X, y = records(200)
    X["place"] = np.where(X.age > 0.5, "town", "land")
    clf = saved_without_records(make_table_pipeline().fit(X, y), tmp_path)
    whole = with_training_records(clf, X, y)
    assert not lacks_training_records(whole)
    assert whole.table_encoder is clf.table_encoder
    assert (whole.predict(X) == clf.predict(X)).all()


def test_another_table_or_other_labels_are_refused(tmp_path):
    clf, (X, y) = saved_without_records(classifier(), tmp_path), records(300)
    with raises("desk-training-other", n_rows=100, n_known=0, n_learned=300):
        with_training_records(clf, *records(100, 3))
    with raises("desk-training-differs", n_rows=300, n_learned=300):
        with_training_records(clf, X, np.roll(y, 1))
