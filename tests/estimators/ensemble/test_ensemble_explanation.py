"""Explanations of an ensemble's verdicts."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from fitted_ensembles import overlapping
from real_sets import real_set
from texts import assert_readable, only_with, sentences

from sepc import SEPEnsembleClassifier
from sepc.estimators.ensemble.ensemble_explanation import Reach, Voice
from sepc.estimators.ensemble.feature_views import SCORES
from sepc.estimators.ensemble.members import LOWEST


def split(name):
    """Return training and test records, a third of them; skip the test where the set cannot be had."""
    X, y = overlapping(n=60, seed=3) if name == "overlapping" else real_set(name)
    if name == "overlapping":
        X = np.exp(X)
    out = np.isin(np.arange(len(y)), np.random.default_rng(0).permutation(len(y))[: len(y) // 3])
    return X[~out], y[~out], X[out]


@pytest.fixture(
    scope="module",
    params=[*(pytest.param(name, marks=pytest.mark.slow) for name in ("vertebral_2c", "haberman")), "overlapping"],
)
def told(request):
    """An ensemble, its training records, and what it says of all test records."""
    X, y, new = split(request.param)
    clf = SEPEnsembleClassifier(n_estimators=8).fit(X, y)
    return clf, X, new, clf.explain_many(new)


def place(region):
    """Return member, part and label of a region, the first two as numbers from 0."""
    member, part, label = re.fullmatch(r"(\d+)([abc]):(.*)(?:#\d+\+?|@)", region).groups()
    return int(member) - 1, "abc".index(part), label


class TestWhatIsCited:
    def test_regions_are_of_the_label_that_their_members_speak_for(self, told):
        *_, explanations = told
        signs = set()
        for why in explanations:
            for voice in why.voices:
                favoured = why.label if voice.evidence > 0 else why.runner_up
                assert voice.evidence == 0 or place(voice.region)[2] == favoured
                signs |= {np.sign(voice.evidence)}
            assert place(why.region)[2] == why.label
        assert {-1.0, 1.0} <= signs

    @pytest.mark.slow
    def test_regions_are_of_the_part_with_the_largest_odds_for_what_is_said(self, told):
        clf, _, new, explanations = told
        model, number = clf.model_, {label: k for k, label in enumerate(clf.classes_)}
        for x, why in zip(new, explanations, strict=True):
            views = model.views(x[None])
            for voice in why.voices:
                m, cited, _ = place(voice.region)
                points = model.members[m].points(views)
                p = [part.densities.posterior(part.sees(points))[0] for part in model.members[m].parts]
                # Beyond what a member may say all odds are equal.
                logs = [np.maximum(np.log(q), LOWEST) for q in p]
                log_odds = [q[number[why.label]] - q[number[why.runner_up]] for q in logs]
                odds = np.sign(voice.evidence) * np.array(log_odds)
                assert voice.evidence == 0 or (odds[cited] > 0 and odds[cited] == pytest.approx(odds.max()))

    def test_the_text_cites_for_the_label_what_is_of_it_and_against_it_what_is_of_the_runner_up(self, told):
        *_, explanations = told
        cited_against = 0
        for why in explanations:
            cited = [voice for voice, _ in cited_voices(why)]
            for label, voices in (
                (why.label, [voice for voice in cited if voice.evidence > 0.0]),
                (why.runner_up, [voice for voice in cited if voice.evidence < 0.0]),
            ):
                assert all(place(voice.region)[2] == label for voice in voices)
                assert len(voices) <= 2
            cited_against += bool(voices)
        assert cited_against > 0

    def test_counts_are_of_the_records_that_belong_to_the_region(self, told):
        clf, *_, explanations = told
        regions = clf.regions().set_index("region")
        for why in explanations[::5]:
            for voice in why.voices:
                row = regions.loc[voice.region]
                own = (row["n_label"], row["n_others"])
                assert voice.n_label + voice.n_others == sum(own)
                if row["label"] == why.label:
                    assert (voice.n_label, voice.n_others) == own

    def test_members_in_normal_scores_are_told_in_the_original_units(self, told):
        clf, X, new, explanations = told
        model = clf.model_
        number = {name: j for j, name in enumerate(model.features)}
        ends = []
        for x, why in zip(new, explanations, strict=True):
            for voice in why.voices:
                if model.members[voice.member - 1].plan.view == SCORES:
                    assert {reach.feature for reach in voice.reach} in (set(voice.features), set())
                    assert all(reach.value == x[number[reach.feature]] for reach in voice.reach)
                    ends += [(number[r.feature], end) for r in voice.reach for end in r[2:] if end is not None]
        assert ends
        features, values = (np.array(column) for column in zip(*ends, strict=True))
        assert (X.min(axis=0)[features] <= values).all()
        assert (values <= X.max(axis=0)[features]).all()
        every = np.arange(len(ends))
        records = X[np.zeros_like(every)]
        records[every, features] = values
        back = model.views[SCORES].original(model.views(records)[SCORES])
        assert back[every, features] == pytest.approx(values)

    def test_the_text_tells_where_the_regions_lie(self, told):
        *_, explanations = told
        for why in explanations[::5]:
            first = why.voices[0]
            words = [words for reach in first.reach if (words := reach.in_words())][:2]
            assert not words or f"({'; '.join(words)})" in why.details
            assert json.loads(json.dumps(why.to_dict()))["voices"][0]["reach"] == [r._asdict() for r in first.reach]


def cited_voices(why):
    """Return the members that an explanation cites, each with its sentence."""
    every = [(voice, one) for voice in why.voices for one in sentences(why)]
    return [(voice, one) for voice, one in every if f"member {voice.member} (" in one]


class TestInWords:
    @pytest.mark.parametrize(
        ("low", "high", "text"),
        [
            (40.0, 65.0, "age 40 to 65, here 61"),
            (None, 65.0, "age up to 65, here 61"),
            (40.0, None, "age from 40 on, here 61"),
            (61.0, 61.0, "age 61, here 61"),
            (None, None, ""),
        ],
    )
    def test_an_end_beyond_all_training_records_is_left_open(self, low, high, text):
        assert Reach("age", 61.0, low, high).in_words() == text

    @pytest.mark.parametrize(
        ("evidence", "n_label", "n_others", "borne_out"),
        [(0.5, 3, 1, True), (0.5, 1, 3, False), (-0.5, 1, 3, True), (-0.5, 3, 1, False), (-0.5, 2, 2, True)],
    )
    def test_counts_that_say_the_opposite_do_not_bear_it_out(self, evidence, n_label, n_others, borne_out):
        voice = Voice(1, ("age",), evidence, 0.2, "low", "1a:low#1", n_label, n_others)
        assert voice.is_borne_out is borne_out

    def test_the_text_says_where_held_out_records_say_otherwise(self, told):
        *_, explanations = told
        for why in explanations:
            for voice, sentence in cited_voices(why):
                assert f" {voice.place} " in sentence
                assert f" {voice.n_label} " in sentence
                assert f" {voice.n_others} " in sentence
                turned = voice._replace(n_label=voice.n_others, n_others=voice.n_label)
                if turned.is_borne_out is not voice.is_borne_out:
                    other = replace(why, voices=tuple(turned if v is voice else v for v in why.voices))
                    (changed,) = (one for v, one in cited_voices(other) if v is turned)
                    assert (len(sentence) > len(changed)) is turned.is_borne_out


class TestExplain:
    @pytest.mark.slow
    def test_log_odds_are_leaning_and_evidence(self, fitted, asked):
        a, proba = fitted.assess(asked), fitted.predict_proba(asked)
        for i in range(0, len(asked), 9):
            why = fitted.explain(asked[i])
            p = dict(zip(fitted.classes_, proba[i], strict=True))
            total = why.leaning + sum(v.evidence for v in why.voices) + why.background
            assert why.background < 0.1 or why.typicality < 0.05
            assert total == pytest.approx(np.log(p[why.label] / p[why.runner_up]), abs=1e-9)
            assert sorted(p, key=p.get)[-2:] == [why.runner_up, why.label]
            assert (why.label, why.trust, why.region, why.reason) == (a.label[i], a.trust[i], a.region[i], a.reason[i])
            assert why.agreement == a.agreement[i]
            assert sorted(v.member for v in why.voices) == list(range(1, 7))
            assert [v.evidence for v in why.voices] == sorted((v.evidence for v in why.voices), reverse=True)
            assert why.voices[0].region == why.region
            assert [why.voices[0].n_label, why.voices[0].n_others] == a.counts[i].tolist()

    def test_the_details_tell_what_adds_up_to_the_log_odds(self, fitted, asked):
        why = fitted.explain(asked[0])
        for field, value in (("leaning", 2.0), ("leaning", -2.0), ("background", -3.0)):
            other = replace(why, **{field: value})
            (told,) = only_with(other, **{field: 0.001})
            whole = sum(v.evidence for v in why.voices) + other.leaning + other.background
            assert f"{value:+.2f}" in told
            assert f" {whole:.2f}" in told

    def test_contributions_of_columns_add_up_to_the_log_odds(self, fitted, asked):
        one_gap = np.where(np.arange(asked.shape[1]) == 0, np.nan, asked[1])
        for x in [*asked[::20], 1000.0 * asked[0], one_gap]:
            why = fitted.explain(x)
            assert why.table()["contribution"].sum() == pytest.approx(why.evidence.log_odds, abs=1e-9)
            odds = np.log(why.trust / why.evidence.rival_probability)
            assert odds == pytest.approx(why.evidence.log_odds, abs=1e-9)
            assert [c.contribution for c in why.evidence.columns if c.value is None] == [0.0] * np.isnan(x).sum()

    def test_its_text_names_members_and_regions_and_it_is_ready_for_json(self, fitted, asked):
        why = fitted.explain(asked[0])
        first = why.voices[0]
        assert f"member {first.member} ({', '.join(first.features)})" in why.details
        assert f" {first.place} " in why.details
        assert_readable(why.text)
        assert_readable(why.details)
        assert json.loads(json.dumps(why.to_dict()))["text"] == why.text == repr(why)
        assert why._repr_html_().startswith("<p>")

    @pytest.mark.slow
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
