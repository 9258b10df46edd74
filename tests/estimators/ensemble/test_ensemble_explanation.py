"""Explanations of an ensemble's verdicts."""

import json

import numpy as np
import pytest


class TestExplain:
    def test_log_odds_are_leaning_and_evidence(self, fitted, asked):
        a, proba = fitted.assess(asked), fitted.predict_proba(asked)
        for i in range(0, len(asked), 9):
            why = fitted.explain(asked[i])
            p = dict(zip(fitted.classes_, proba[i], strict=True))
            total = why.leaning + sum(v.evidence for v in why.voices)
            assert total == pytest.approx(np.log(p[why.label] / p[why.runner_up]), abs=1e-9)
            assert sorted(p, key=p.get)[-2:] == [why.runner_up, why.label]
            assert (why.label, why.trust, why.region, why.reason) == (a.label[i], a.trust[i], a.region[i], a.reason[i])
            assert why.agreement == a.agreement[i]
            assert sorted(v.member for v in why.voices) == list(range(1, 7))
            assert [v.evidence for v in why.voices] == sorted((v.evidence for v in why.voices), reverse=True)
            assert why.voices[0].region == why.region
            assert [why.voices[0].n_label, why.voices[0].n_others] == a.counts[i].tolist()

    def test_its_text_names_members_and_regions_and_it_is_ready_for_json(self, fitted, asked):
        why = fitted.explain(asked[0])
        first = why.voices[0]
        assert f"member {first.member} ({', '.join(first.features)})" in why.text
        assert f"region {first.region} beside {first.n_label} held-out records" in why.text
        assert json.loads(json.dumps(why.to_dict()))["text"] == why.text == repr(why)
        assert why._repr_html_().startswith("<p>")

    def test_the_change_has_the_label_it_promises(self, fitted, asked):
        for z in asked[::15]:
            found = fitted.explain(z).counterfactual
            changed = fitted.assess(np.array([list(found.point.values())]))
            assert changed.label[0] == found.label != fitted.predict(z[None])[0]
            assert changed.trust[0] == found.trust
            assert changed.region[0] == found.region

    def test_neighbours_are_the_nearest_training_records(self, data, fitted):
        X, y = data
        near = fitted.explain(X[17]).neighbours
        distances = np.linalg.norm((X - X[17]) / X.std(axis=0), axis=1)
        assert [n.row for n in near] == np.argsort(distances)[:5].tolist()
        assert [n.label for n in near] == y[np.argsort(distances)[:5]].tolist()
