"""Metrics: every request and every verdict is counted once."""

import re
from collections import Counter

import numpy as np
import pytest
from desks import classifier, records
from scorers import MODEL, Caller, records_of

from sepc import SEPClassifier

X, _ = records(60, 3)


@pytest.fixture
def caller(tmp_path):
    with Caller(tmp_path, classifier()) as made:
        yield made


def counts(caller):
    """Return the lines of the metrics as a dict; their form is checked."""
    answer = caller.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found, described = {}, set()
    for line in answer.text.splitlines():
        if line.startswith("# "):
            described.add(line.split()[2])
            continue
        name, value = line.rsplit(" ", 1)
        series = re.fullmatch(r'([a-z_]+)(\{([a-z]+="([^"\\]|\\.)*",?)*\})?', name)
        assert series, line
        assert re.sub(r"_(bucket|sum|count)$", "", series[1]) in described or series[1] in described
        found[name] = float(value)
    assert answer.text.endswith("\n")
    return found


def test_verdicts_are_counted_by_label_refusal_and_place(caller):
    caller.predictions(records_of(X))
    caller.at_once(*(("/predict", [one]) for one in records_of(X[:10])))
    a = classifier().assess(X.iloc[[*range(60), *range(10)]])
    found, refusals = counts(caller), Counter(a.refusals().tolist())
    assert found["sepc_rows_total"] == 70
    assert found["sepc_accepted_total"] == refusals.pop(None)
    for label, n in Counter(a.label.tolist()).items():
        assert found[f'sepc_verdicts_total{{label="{label}"}}'] == n
    for reason, n in refusals.items():
        assert found[f'sepc_refused_total{{reason="{reason}"}}'] == n
    for name, values in (("trust", a.trust), ("typicality", a.typicality)):
        for bound in (0.5, 0.9, 0.99):
            assert found[f'sepc_{name}_bucket{{le="{bound}"}}'] == np.count_nonzero(values <= bound)
        assert found[f"sepc_{name}_count"] == found[f'sepc_{name}_bucket{{le="+Inf"}}'] == 70
        assert found[f"sepc_{name}_sum"] == pytest.approx(values.sum())


def test_requests_are_counted_by_address_and_status(caller):
    caller.post("/predict", b"{")
    caller.post("/predict", records_of(X[:1]))
    caller.post(f"{MODEL}/infer", {})
    caller.get("/nowhere/at/all")
    caller.get("/model", host="evil.example")
    found = counts(caller)
    infer = "/v2/models/{name}/infer"
    for endpoint, status in (("/predict", 400), ("/predict", 200), (infer, 400), ("other", 404), ("other", 421)):
        assert found[f'sepc_requests_total{{endpoint="{endpoint}",status="{status}"}}'] == 1
    assert found['sepc_request_seconds_count{endpoint="/predict"}'] == 2
    assert 0.0 < found['sepc_request_seconds_sum{endpoint="/predict"}'] < 10.0


def test_labels_of_any_text_are_escaped(tmp_path):
    data, y = records(200)
    labels = np.where(y == "ill", 'a "b"\\\n', "中é")
    clf = SEPClassifier().fit(data, labels)
    with Caller(tmp_path, clf) as caller:
        found = caller.predictions(records_of(X))
        assert {one["label"] for one in found} == set(labels)
        assert sum(n for name, n in counts(caller).items() if name.startswith("sepc_verdicts_total")) == 60


def test_the_model_is_named(caller):
    version = caller.get("/model").json["version"]
    (info,) = [name for name in counts(caller) if name.startswith("sepc_model_info")]
    assert f'version="{version}"' in info
