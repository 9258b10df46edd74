"""The demonstration shows the whole job and writes its files."""

import numpy as np
import pytest

from sepc import SEPClassifier, demo
from sepc.model.acceptance import REFUSALS

pytestmark = pytest.mark.pages


def test_the_demo_tells_what_matters_in_under_25_lines_and_writes_a_report(capsys, tmp_path):
    demo.main(tmp_path / "shown")
    told = capsys.readouterr().out
    assert len(told.splitlines()) < 25
    words = " ".join(told.split())
    for part in (
        " 62.6 %",  # of the majority class
        " 99 % ",
        REFUSALS["strange"],
        str(tmp_path / "shown" / "report.html"),
    ):
        assert part in words
    written = {path.name for path in (tmp_path / "shown").iterdir()}
    assert written == {"report.html", "data.csv", "new.csv", "labelled.csv"}


def test_the_explained_record_is_right_accepted_and_in_one_region():
    clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    a = clf.assess([[3.4], [1.9], [1.0], [6.5]])
    row = demo.explained_row(a, np.array(["low", "low", "low", "low"]), 0.5)
    inside = [k for k in range(3) if a.reason[k] == "inside"]
    assert row == max(inside, key=lambda k: a.typicality[k])
    assert demo.explained_row(a, np.array(["high", "high", "high", "low"]), 0.5) == a.trust.argmax()  # none is right
