"""Shares of classes and costs of errors that were stated, and what decisions on the test records cost, in words."""

import numpy as np

from sepc.common.text import percent
from sepc.common.typing import FloatArray
from sepc.reports.subject import Subject


def policy_in_words(subject: Subject, min_trust: float) -> str:
    """Return sentences on what was stated; empty where nothing was.

    Parameters
    ----------
    subject : Subject
    min_trust : float
        Trust from which a label is accepted.
    """
    return " ".join(part for part in (_shares(subject), _costs(subject, min_trust)) if part)


def _shares(subject: Subject) -> str:
    policy, counts = subject.model.policy, subject.model.class_count
    if policy is None or policy.prior is None:
        return ""
    tested = np.bincount(subject.truth[subject.truth < subject.n_classes], minlength=subject.n_classes)
    labels = subject.labels[: subject.n_classes]
    stated = ", ".join(f"{label} {percent(share)}" for label, share in zip(labels, policy.prior.tolist(), strict=True))
    others = [", ".join(percent(share) for share in (n / max(n.sum(), 1)).tolist()) for n in (counts, tested)]
    return (
        f"Classes are taken to be as frequent as stated: {stated} (in training {others[0]}, among the test records "
        f"{others[1]}). Shares of right labels are those among the test records."
    )


def _costs(subject: Subject, min_trust: float) -> str:
    policy, known = subject.model.policy, subject.truth < subject.n_classes
    if policy is None or policy.costs is None or not known.any():
        return ""
    truth, accepted = subject.truth[known], subject.accepted(min_trust)[known]
    given = policy.costs[truth, subject.predicted[known]]
    likeliest = policy.costs[truth, subject.proba[known].argmax(axis=1)]
    if policy.asking is None:
        return (
            f"Errors have costs: the labels of all test records, accepted or not, cost {_mean(given)} a record; the "
            f"likeliest label for each would cost {_mean(likeliest)}."
        )
    decided = np.where(accepted, given, policy.asking[truth])
    return (
        f"Errors have costs: on the test records the decisions cost {_mean(decided)} a record; the likeliest label for "
        f"each would cost {_mean(likeliest)}, asking a person each time {_mean(policy.asking[truth])}."
    )


def _mean(costs: FloatArray) -> str:
    return f"{costs.mean():.3g}"
