"""TrustedClassifier to arrays and JSON, and back: all but the estimator, of which a file keeps a fingerprint."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from sepc.around import GivenScores, TrustedClassifier
from sepc.around.answers import LABELS, PROBABILITIES, VALUES, AnswerReader, method_of
from sepc.around.encoding import Encoding, Reduction, name_of
from sepc.around.trusted_model import TrackRecord, TrustedModel, n_answer_columns
from sepc.common.frames import plain
from sepc.estimators.classifier import SEPClassifier
from sepc.estimators.ensemble.stacking import Stack
from sepc.persist.named_arrays import ArrayReader, ArrayWriter, require, require_flag, require_integer, require_texts
from sepc.persist.saved_classifier import pack_single, unpack_single
from sepc.persist.saved_common import (
    MOST_ROWS,
    TrainingSummary,
    pack_common,
    pack_labels,
    unpack_common,
    unpack_labels,
)
from sepc.persist.saved_parts import Header
from sepc.persist.saved_probes import pack_probes, unpack_probes


def pack_trusted(writer: ArrayWriter, clf: TrustedClassifier, training_rows: bool) -> Header:
    """Put a fitted classifier into arrays; return the rest of it."""
    model, reader = clf.model_, clf._reader
    regions = pack_single(writer.under("regions"), clf.regions_, training_rows)
    for name in ("weights", "leaning", "background"):
        writer.put(name, getattr(model.stack, name))
    for name in TrackRecord._fields:
        writer.put(f"record_{name}", getattr(model.track_record, name))
    writer.put("fingerprint", model.fingerprint)
    if regions["training_rows"]:
        writer.put("held_out", model.held_out)
    writer.put("log_shares", reader.log_shares)
    writer.put("least_lead", reader.least_lead)
    if regions["training_rows"] and clf.row_numbers_ is not None:
        writer.put("row_numbers", clf.row_numbers_)
    names = getattr(clf, "feature_names_in_", None)
    return pack_common(writer, clf, regions["training_rows"], without=("estimator", "encoder")) | {
        "regions": regions,
        "isolated_points": regions["isolated_points"],
        "keeps_labels": model.keeps_labels,
        "n_columns": getattr(clf, "n_features_in_", None),
        "columns": None if names is None else names.tolist(),
        "reader": {"method": reader.method, "spread": reader.spread},
        "encoder": _packed_encoding(writer, clf),
        **_packed_estimator(writer, clf, training_rows),
    }


def _packed_estimator(writer: ArrayWriter, clf: TrustedClassifier, training_rows: bool) -> Header:
    """Return the estimator's name with probes, or all of one that is ours."""
    given = clf.estimator_
    if not isinstance(given, GivenScores):
        probes = pack_probes(writer, clf._probes, training_rows)
        if probes is not None and clf._encoding.is_custom:
            writer.put("probe_features", np.asarray(clf._features(clf._probes), dtype=np.float64))
        was_frozen = clf._was_frozen or isinstance(clf.estimator, FrozenEstimator)
        return {"estimator": {"name": clf.estimator_name, "was_frozen": was_frozen}, "probes": probes}
    scores: Any = given.scores
    if isinstance(scores, Mapping):
        scores = {"pairs": [[plain(label), column] for label, column in scores.items()]}
    inside = writer.under("given")
    inside.put("class_count", given.class_count_)
    packed = {"scores": scores if isinstance(scores, dict) else list(scores), "label": given.label}
    return {"given": packed | {"score": given.score, "classes": pack_labels(inside, given.classes_)}, "probes": None}


def _packed_encoding(writer: ArrayWriter, clf: TrustedClassifier) -> Header:
    encoder, reduction, is_default = clf._encoding
    if reduction is not None:
        for name, array in reduction._asdict().items():
            writer.put(f"reduction_{name}", array)
    if clf.table_encoder is not None:
        return {"is_default": is_default, "table": encoder.to_dict()}
    return {"name": encoder if encoder is None or isinstance(encoder, str) else name_of(encoder)}


def unpack_trusted(reader: ArrayReader, header: Header) -> TrustedClassifier:
    """Return the classifier that was saved, without the estimator and the encoder that a file does not hold."""
    clf, summary = unpack_common(reader, header, TrustedClassifier, estimator=None, encoder=None)
    regions = unpack_single(reader.under("regions"), header["regions"])
    _require_regions(regions, summary)
    clf.regions_ = regions
    clf._encoding = _unpacked_encoding(reader, header["encoder"], regions)
    if clf.table_encoder is not None and not clf._encoding.is_default:
        clf.encoder = clf.table_encoder
    clf._reader = _unpacked_reader(reader, header["reader"], len(summary.classes))
    clf._probes = unpack_probes(reader, header["probes"])
    if "probe_features" in reader:
        clf._probe_features = reader.any_numbers("probe_features", (None, None))
    model = _unpacked_model(reader, regions, require_flag(header["keeps_labels"]), len(summary.classes))
    clf.model_, clf.weights_ = clf._stated(model), model.stack.weights
    _unpack_columns(clf, header)
    clf.estimator = clf.estimator_ = None
    if "row_numbers" in reader:
        clf.row_numbers_ = reader.integers("row_numbers", (None,), 1, MOST_ROWS)
        records: Any = regions.model_.records
        require(len(clf.row_numbers_) > records.rows.max(), "row numbers")
    if "given" in header:
        clf.estimator = clf.estimator_ = _unpacked_given(reader.under("given"), header["given"])
        require(set(clf.classes_.tolist()) <= set(clf.estimator_.classes_.tolist()), "labels of given scores")
        require(clf._reader.method == method_of(clf.estimator_), "method of given scores")
    else:
        clf.estimator = require_texts([header["estimator"]["name"]])[0]
        clf._was_frozen = require_flag(header["estimator"]["was_frozen"])
    return clf


def _require_regions(regions: SEPClassifier, summary: TrainingSummary) -> None:
    same = np.array_equal(regions.classes_, summary.classes) and regions.classes_.dtype == summary.classes.dtype
    require(same and np.array_equal(regions.class_count_, summary.class_count), "classes of the regions")
    require(list(regions.model_.features) == summary.features, "features of the regions")
    require(regions.model_.trust == "local" and regions.model_.policy is None, "trust of the regions")


def _unpack_columns(clf: TrustedClassifier, header: Header) -> None:
    """Set the columns of the records as they come."""
    names = header["columns"]
    del clf.n_features_in_
    if header["n_columns"] is not None:
        clf.n_features_in_ = require_integer(header["n_columns"], 1)
    if hasattr(clf, "feature_names_in_"):
        del clf.feature_names_in_
    if names is not None:
        clf.feature_names_in_ = np.array(require_texts(names, clf.n_features_in_), dtype=object)


def _unpacked_reader(reader: ArrayReader, header: Header, n_classes: int) -> AnswerReader:
    method, spread = header["method"], header["spread"]
    require(method in (PROBABILITIES, VALUES, LABELS) and isinstance(spread, float) and 0.0 < spread < np.inf, "reader")
    log_shares = reader.numbers("log_shares", (n_classes, n_classes))
    least_lead = reader.any_numbers("least_lead", (n_classes,))
    require(bool((log_shares <= 0.0).all() and (least_lead >= 0.0).all()), "shares or leads")
    return AnswerReader(method, spread, log_shares, least_lead)


def _unpacked_model(reader: ArrayReader, regions: SEPClassifier, keeps_labels: bool, n_classes: int) -> TrustedModel:
    inside: Any = regions.model_
    leaning, background = (reader.numbers(name, (n_classes,)) for name in ("leaning", "background"))
    weights = reader.numbers("weights", (2,))
    require(bool((weights >= 0.0).all()), "weights")
    require(bool(((background >= 0.0) & (background <= 1.0)).all()), "background")
    shape = len(inside.densities.codes), n_classes
    record = TrackRecord(*(reader.integers(f"record_{name}", shape, 0, MOST_ROWS) for name in TrackRecord._fields))
    require(bool((record.right <= record.n).all()), "track record")
    fingerprint = reader.any_numbers("fingerprint", (None, n_classes + 1))
    stack = Stack(weights, leaning, background, inside.class_count / inside.class_count.sum())
    held_out = None
    if inside.records is not None:
        held_out = reader.any_numbers("held_out", (len(inside.records.codes), n_answer_columns(n_classes)))
        require(bool((held_out[:, :n_classes] <= 0.0).all()), "held-out log probabilities")
        require(bool(np.isin(held_out[:, n_classes], np.arange(n_classes)).all()), "held-out labels")
    return TrustedModel(inside, stack, keeps_labels, record, fingerprint, held_out)


def _unpacked_encoding(reader: ArrayReader, header: Header, regions: SEPClassifier) -> Encoding:
    reduction = None
    if "reduction_mean" in reader:
        mean = reader.numbers("reduction_mean", (None,))
        components = reader.numbers("reduction_components", (regions.n_features_in_, len(mean)))
        reduction = Reduction(mean, components)
    if "table" not in header:
        require(header["name"] is None or bool(require_texts([header["name"]])), "name of the encoder")
        return Encoding(header["name"], reduction)
    from sepc.tables import TableEncoder  # needs pandas

    encoder = TableEncoder.from_dict(header["table"])
    names = encoder.get_feature_names_out().tolist()
    require(names == regions.feature_names_in_.tolist(), "features of the encoder")
    return Encoding(encoder, reduction, require_flag(header["is_default"]))


def _unpacked_given(reader: ArrayReader, header: Header) -> GivenScores:
    scores: Any = header["scores"]
    scores = dict(scores["pairs"]) if isinstance(scores, dict) else scores
    require_texts([*(scores.values() if isinstance(scores, dict) else scores)])
    require_texts([header[name] for name in ("label", "score") if header[name] is not None])
    classes = unpack_labels(reader, header["classes"])
    given = GivenScores(scores or (), header["label"], header["score"])
    return given.knowing(classes, reader.integers("class_count", (len(classes),), 0, MOST_ROWS))
