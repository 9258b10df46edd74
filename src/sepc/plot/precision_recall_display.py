"""PrecisionRecallDisplay: precision of a label against its recall."""

from typing import Any

from sepc.plot.label_curves import LabelCurvesDisplay, precision_recall
from sepc.plot.style import GREY


class PrecisionRecallDisplay(LabelCurvesDisplay):
    """Precision of labels against their recall, with a mark where the accepted labels are.

    A curve goes through all thresholds of the label's probability; the legend gives the average precision. The mark
    shows recall and precision of the accepted labels; where few curves are drawn, the share of the given labels that
    is accepted stands beside it. Dotted lines are the shares of the labels among the records: the precision of a
    probability that says nothing. For a rare label this says more than the ROC curve.

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
    >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 4 + ["high"] * 2
    >>> display = PrecisionRecallDisplay.from_estimator(SEPClassifier().fit(X, y), X, y, ax=Figure().subplots())
    >>> [(curve.label, round(curve.share, 2)) for curve in display.curves]
    [('high', 0.33)]
    """

    _area = "average precision"
    _axes = "recall (share of the label's records found)", "precision (share of right labels)"
    _columns = "recall", "precision"
    _steps = "steps-post"
    _of = staticmethod(precision_recall)

    def _draw_reference(self, ax: Any) -> None:
        for share in {curve.share for curve in self.curves}:
            ax.axhline(share, color=GREY, linewidth=0.9, linestyle=":")
