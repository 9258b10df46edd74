"""Picture of a promise: what is accepted of each part, and what is lost there beside what is promised."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sepc.common.text import percent
from sepc.plot.style import COLOURS, GREY, SMALL, TINY, short

_STRONG, _WEAK = 1.0, 0.45


def draw_promises(bars: Sequence[dict[str, Any]], is_error: bool, accepted_ax: Any, lost_ax: Any) -> None:
    """Draw one line for each part of a promise on two axes that share their height.

    Parameters
    ----------
    bars : sequence of dict
        Each with ``name``, ``accepted`` (a share), ``loss``, its interval from ``low`` to ``high`` and the promised
        ``limit``; all but the name may be None. Parts without a limit are drawn in a weaker colour.
    is_error : bool
        Whether the loss is the share of wrong labels, and not a cost.
    accepted_ax, lost_ax : matplotlib Axes
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    at = np.arange(len(bars))
    strength = [_WEAK if bar["limit"] is None else _STRONG for bar in bars]
    accepted_ax.barh(at, 1.0, 0.5, color="#cccccc")
    drawn = accepted_ax.barh(at, [bar["accepted"] or 0.0 for bar in bars], 0.5, color=COLOURS[0])
    for patch, alpha in zip(drawn, strength, strict=True):
        patch.set_alpha(alpha)
    accepted_ax.set_yticks(at, [short(bar["name"], 28) for bar in bars], fontsize=SMALL)
    for text, alpha in zip(accepted_ax.get_yticklabels(), strength, strict=True):
        text.set_color(GREY if alpha == _WEAK else "black")
    for y, bar, alpha in zip(at, bars, strength, strict=True):
        if bar["limit"] is not None:
            lost_ax.plot([bar["limit"]] * 2, [y - 0.4, y + 0.4], color=COLOURS[1], linewidth=2.4, gid=f"limit-{y}")
        if bar["low"] is not None:
            lost_ax.plot([bar["low"], bar["high"]], [y, y], color=COLOURS[0], alpha=0.45, linewidth=1.3)
        if bar["loss"] is not None:
            lost_ax.plot(bar["loss"], y, "o", color=COLOURS[0], alpha=alpha, markersize=5)
    accepted_ax.set(xlim=(0.0, 1.0), ylim=(len(bars) - 0.5, -0.5))
    lost_ax.set(xlim=(-0.01 * _most(bars), _most(bars)), ylim=(len(bars) - 0.5, -0.5))
    lost_ax.tick_params(labelleft=False)
    for ax, title in ((accepted_ax, "accepted"), (lost_ax, "wrong of these" if is_error else "cost of these")):
        ax.set_title(title, fontsize=SMALL)
        ax.spines[["top", "left", "right"]].set_visible(False)
        ax.tick_params(axis="y", length=0.0)
        ax.tick_params(axis="x", labelsize=TINY)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        if is_error or ax is accepted_ax:
            ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))


def _most(bars: Sequence[dict[str, Any]]) -> float:
    """Return the end of the scale of losses: intervals of a few records reach far beyond what matters."""
    ends = [bar[key] for bar in bars for key in ("loss", "high", "limit") if bar[key] is not None]
    limits = [bar["limit"] for bar in bars if bar["limit"] is not None]
    return max(1.05 * min(max(ends, default=1.0), 3.0 * max(limits, default=1.0)), 1e-9)
