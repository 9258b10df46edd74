"""Progress of a fit, through callbacks and as lines of text."""

import pytest
from sklearn.datasets import load_iris

from sepc import SEPClassifier


def test_callbacks_see_the_fit_advance(cancer):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")
    seen = []

    class Log:
        def setup(self, estimator, context):
            seen.append(("setup", type(estimator), context.task_name))

        def teardown(self, estimator, context):
            seen.append(("teardown", type(estimator), context.task_name))

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            seen.append(("done", type(estimator), context.task_name))

    assert isinstance(Log(), callback.FitCallback)
    SEPClassifier().set_callbacks(Log()).fit(*cancer)
    tasks = [("setup", "fit"), *[("done", "partition")] * 100, ("done", "fit"), ("teardown", "fit")]
    assert seen == [(event, SEPClassifier, task) for event, task in tasks]


def test_verbose_writes_to_stderr(capsys):
    for trust, task in (("local", "3 classes"), ("paper", "2")):
        SEPClassifier(verbose=True, trust=trust).fit(*load_iris(return_X_y=True))
        out, err = capsys.readouterr()
        assert out == ""
        assert f"{task}: 150 of 150 " in err
