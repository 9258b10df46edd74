"""Progress of long fits: through scikit-learn's callbacks where it has them, and as lines of text."""

import sys
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

try:
    from sklearn import callback
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9
    callback = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty stand-in where scikit-learn has no callbacks."""


__all__ = ["CallbackSupportMixin", "Progress", "with_callbacks"]

_STEPS = 100
_Method = TypeVar("_Method", bound=Callable[..., Any])


def with_callbacks(method: _Method) -> _Method:
    """Let callbacks follow a fit where scikit-learn has them; its own decorator would lose the types of the method."""
    decorated: _Method = method if callback is None else callback.with_callbacks(method)
    return decorated


class Progress:
    """Progress of a fit, in hundredths, to the callbacks of an estimator and, if verbose, as lines on standard error.

    `tasks` are done one after the other; `done` is what the numbers in the lines count.
    """

    def __init__(self, estimator: Any, tasks: list[str], verbose: bool, done: str = "points settled") -> None:
        self.estimator, self.tasks, self.verbose, self.what_is_done = estimator, tasks, verbose, done
        self.done = 0
        self.last_line = self.start = monotonic()
        self.context = None
        if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
            self.context = estimator._init_callback_context(max_subtasks=_STEPS)
            self.context.call_on_fit_task_begin(estimator=estimator)

    def of(self, task: int) -> Callable[[int, int], None]:
        """Return the `on_step` of one task."""

        def on_step(n_settled: int, n_total: int) -> None:
            self._reach(_STEPS * (task * n_total + n_settled) // (n_total * len(self.tasks)))
            self._line(self.tasks[task], n_settled, n_total)

        return on_step

    @property
    def is_followed(self) -> bool:
        """Whether there are lines or callbacks."""
        return bool(self.verbose) or self.context is not None

    def finish(self) -> None:
        """Report the remaining progress."""
        self._reach(_STEPS)
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator)

    def _reach(self, hundredths: int) -> None:
        while self.done < hundredths:
            self.done += 1
            if self.context is not None:
                step = self.context.subcontext(task_name="partition")
                step.call_on_fit_task_begin(estimator=self.estimator)
                step.call_on_fit_task_end(estimator=self.estimator)

    def _line(self, task: str, n_settled: int, n_total: int) -> None:
        now = monotonic()
        if self.verbose and (now - self.last_line >= 1.0 or n_settled == n_total):
            self.last_line = now
            print(f"{task}: {n_settled} of {n_total} {self.what_is_done}, {now - self.start:.1f} s", file=sys.stderr)
