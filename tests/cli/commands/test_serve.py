"""``sepc serve``: errors before it serves, and the options of the model."""

from argparse import Namespace

import pytest
from command_line import do
from desks import classifier, records
from sklearn.linear_model import LogisticRegression

from sepc import TrustedClassifier, save
from sepc.cli.commands.serve import load_model


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEPC_TOKEN", raising=False)
    save(classifier(), "model.sepc")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("serve nothing.sepc", 1, "No such file"),
        ("serve model.sepc --host 0.0.0.0", 1, "--tls CERT KEY"),
        ("serve model.sepc --host 0.0.0.0 --behind-proxy", 1, "--hostname"),
        ("serve model.sepc --host 0.0.0.0 --behind-proxy --hostname score.example", 1, "expected a token"),
        ("serve model.sepc --token-file token", 1, "No such file"),
        ("serve model.sepc --desk model.sepc", 1, "cannot be read as the file of a desk"),
        ("serve model.sepc --costs ill other 3", 2, "other"),
        ("serve model.sepc --name a/b", 1, "holds a slash"),
        ("serve model.sepc --min-trust 2", 2, "not between 0 and 1"),
        ("serve model.sepc --scores p", 2, "neither --scores nor --given"),
    ],
)
@pytest.mark.usefixtures("here")
def test_errors_say_what_to_do(line, code, text, capsys):
    assert do(line) == code
    assert text in capsys.readouterr().err


def test_a_short_token_is_refused(here, capsys):
    (here / "token").write_text("secret\n")
    assert do("serve model.sepc --token-file token") == 1
    assert "too short" in capsys.readouterr().err


def test_a_damaged_file_is_refused(here, capsys):
    (here / "model.sepc").write_bytes((here / "model.sepc").read_bytes()[:-500])
    assert do("serve model.sepc") == 1
    assert "damaged" in capsys.readouterr().err


def options(**more):
    return Namespace(**{"scores": None, "given": None, "given_score": None, "class_prior": [], "costs": []} | more)


def test_priors_and_costs_are_those_of_the_options(here):
    costs = [("ill", "well", 5.0), ("well", "ill", 1.0)]
    model = load_model(options(costs=costs, asking_cost=0.5), here / "model.sepc")
    assert model.assess(records(3)[0]).has_costs


def test_a_model_around_another_one_needs_its_columns(here, capsys):
    save(TrustedClassifier(LogisticRegression(), cv=3).fit(*records(200)), "around.sepc")
    assert do("serve around.sepc") == 1
    assert "--scores" in capsys.readouterr().err
    model = load_model(options(scores=["p_well"], asking_cost=None), here / "around.sepc")
    assert model.core.answer_columns == ["p_well"]
