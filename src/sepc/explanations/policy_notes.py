"""Notes on a policy: what was stated of classes and costs, and what that means for one verdict."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sepc.common.frames import plain
from sepc.common.text import listed, percent
from sepc.common.typing import FloatArray
from sepc.model.fitted_model import FittedModel

_N_COSTS_IN_TEXT = 3


class PolicyNote(NamedTuple):
    """What was stated of classes and costs, for one verdict.

    Attributes
    ----------
    class_prior, class_share : dict of label to float, or None
        Shares of the classes as stated, and those in training; None where nothing was stated.
    costs : dict of label to float, or None
        What each label can be expected to cost if it is given.
    asking : float or None
        What asking a person can be expected to cost.
    """

    class_prior: dict[Any, float] | None
    class_share: dict[Any, float] | None
    costs: dict[Any, float] | None
    asking: float | None

    def sentences(self, label: Any) -> Iterator[str]:
        """Yield what is to be said of a verdict with this label."""
        if self.class_prior is not None and self.class_share is not None:
            stated = ", ".join(f"{name} {percent(share)}" for name, share in self.class_prior.items())
            trained = ", ".join(percent(share) for share in self.class_share.values())
            yield f"Classes are taken to be as frequent as stated: {stated} (in training {trained})."
        if self.costs is not None:
            others = sorted((cost, str(name)) for name, cost in self.costs.items() if name != label)
            told = listed([f"{name} {cost:.3g}" for cost, name in others[:_N_COSTS_IN_TEXT]])
            yield f"It can be expected to cost {self.costs[label]:.3g}, {told}."
            if self.asking is not None:
                less = "less" if self.asking < self.costs[label] else "no less"
                yield f"Asking a person can be expected to cost {less}, {self.asking:.3g}."


def policy_note(model: FittedModel, proba: FloatArray) -> PolicyNote | None:
    """Return what the model's policy means for a point with these probabilities, shape (n_classes,), or None."""
    policy = model.policy
    if policy is None:
        return None
    labels = [plain(label) for label in model.classes]
    trained = (model.class_count / model.class_count.sum()).tolist()
    given = proba[None]
    asking = policy.cost_of_asking(given)
    return PolicyNote(
        class_prior=None if policy.prior is None else dict(zip(labels, policy.prior.tolist(), strict=True)),
        class_share=None if policy.prior is None else dict(zip(labels, trained, strict=True)),
        costs=None if policy.costs is None else dict(zip(labels, (given @ policy.costs)[0].tolist(), strict=True)),
        asking=None if asking is None else float(asking[0]),
    )
