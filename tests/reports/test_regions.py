"""Regions of a report: ellipses are projections, members stand in columns, merged components are named."""

import numpy as np
import pandas as pd
import pytest

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.cli.commands.inspect import regions_text
from sepc.reports.regions import regions_table, views
from sepc.reports.subject import Subject


def test_shadows_are_those_of_the_ellipsoids(wdbc_clf, wdbc_report):
    view = wdbc_report.to_dict()["picture"]["views"][0]
    some = [list(wdbc_clf.feature_names_in_).index(axis["title"]) for axis in view["axes"]]
    ellipses = {e["region"]: e for e in view["ellipses"]}
    for name, block in zip(wdbc_clf.regions()["region"], wdbc_clf.partitions_[0].blocks, strict=True):
        shadow = block.ellipsoid.shadow(some)
        scale = wdbc_clf.scale_[some]
        spread = np.outer(scale, scale) * ((shadow.axes * np.square(shadow.radii)) @ shadow.axes.T)
        factor = np.array(ellipses[name]["factor"])
        np.testing.assert_allclose(factor @ factor.T, spread, rtol=1e-4)
        np.testing.assert_allclose(ellipses[name]["center"], shadow.center * scale + wdbc_clf.mean_[some], rtol=1e-4)


def test_members_are_named_by_columns_and_not_by_values():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    table = pd.DataFrame({"colour": rng.choice(["red", "blue", "green"], 120), "size": rng.normal(size=120) + y})
    clf = make_table_pipeline(SEPEnsembleClassifier(n_estimators=2)).fit(table, y)
    subject = Subject.of(clf, table, y)
    told = regions_table(subject)
    member = [column["key"] for column in told["columns"]].index("member")
    assert {row[member] for row in told["rows"]} == {"member 1 (colour, size)", "member 2 (colour, size)"}
    assert "member 1 (colour, size)" in views(subject, np.arange(1))["note"]


@pytest.mark.parametrize(("trust", "is_told"), [("local", True), ("raw", False)])
def test_what_is_read_as_one_is_told_where_it_is(trust, is_told):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 300)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.normal([1.5, 1.0], [1.2, 0.9], size=(300, 2))])
    clf = SEPClassifier(n_imp=0.05, trust=trust).fit(X, y)
    told = regions_table(Subject.of(clf, X, y))
    keys = [column["key"] for column in told["columns"]]
    assert ("component" in keys) == ("component" in regions_text(clf)) == is_told
    if is_told:
        assert {row[keys.index("component")] for row in told["rows"]} == {"a#1+", "b#1+"}
