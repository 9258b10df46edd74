"""Results are kept as they came out, and the document holds nothing else."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from paper import EXPERIMENTS
from paper.results import Result, document, numbers


def test_what_was_kept_is_what_came_out(tmp_path):
    hulls = EXPERIMENTS["reduced_hulls"]
    runs = [{**hulls.run(seed), "after.kept": nan} for seed in range(hulls.quick)]
    Result.of(hulls, False, runs).save(tmp_path / "a.json")
    values = Result.load(tmp_path / "a.json", hulls, full=False).values
    assert values["before.kept"] == [1.0] * hulls.quick
    assert np.isnan(values["after.kept"]).all()


@pytest.mark.slow
def test_every_number_of_ours_on_the_page_comes_from_the_values(runs):
    """Other values must change every cell: a number that stayed would have been typed."""
    result = runs("circles")
    shifted = replace(result, values={name: [v + 1.2345 for v in column] for name, column in result.values.items()})
    before, after = (document([r])["sections"][0] for r in (result, shifted))
    for old, new in zip(before["tables"], after["tables"], strict=True):
        for (_, was), (_, now) in zip(old["rows"], new["rows"], strict=True):
            assert not set(was) & set(now) - {"none"}
    assert before["statements"][0]["ours"] != after["statements"][0]["ours"]
    assert numbers([result]) != numbers([shifted])
