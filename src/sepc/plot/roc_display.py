"""RocDisplay: recall of a label against the share of other records that are taken for it."""

from typing import Any

from sepc.plot.label_curves import LabelCurvesDisplay, roc
from sepc.plot.style import GREY


class RocDisplay(LabelCurvesDisplay):
    """ROC curves of labels, each against the rest, with a mark where the accepted labels are.

    A curve goes through all thresholds of the label's probability; the legend gives the area under it (AUC). The mark
    is the recall that accepted labels reach, and the share of other records among which they are wrong; where few
    curves are drawn, the share of the given labels that is accepted stands beside it. On the dotted line a
    probability says nothing.

    Parameters
    ----------
    curves : sequence of LabelCurve

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each curve.
    marks_ : list of matplotlib Line2D
        One for each curve whose accepted labels are known.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> display = RocDisplay.from_estimator(clf, [[1.0], [4.0], [7.0]], ["low", "low", "high"], ax=Figure().subplots())
    >>> [(curve.label, curve.area) for curve in display.curves]
    [('high', 1.0)]
    """

    _area = "AUC"
    _axes = "share of other records taken for the label", "recall (share of its records found)"
    _columns = "false_positive_rate", "recall"
    _of = staticmethod(roc)

    def _draw_reference(self, ax: Any) -> None:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=0.9, linestyle=":")
