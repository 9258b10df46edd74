"""Opening a desk: its file, and the model that it goes on with."""

from collections.abc import Mapping
from getpass import getuser
from pathlib import Path
from typing import Any

from sepc.around import GivenScores
from sepc.common.errors import InputError
from sepc.desk.desk import Desk
from sepc.desk.events import Events
from sepc.desk.intake import terms_of
from sepc.desk.judge import Judge, file_digest
from sepc.persist import load


def load_model(path: Path, given: Mapping[str, Any] | None = None) -> Any:
    """Return the model in a file; `given` are the parameters of `GivenScores`, for a model around another one."""
    return load(path, estimator=None if given is None else GivenScores(**given))


def open_desk(db: Path, model: Path, *, given: Mapping[str, Any] | None = None, person: str = "") -> Desk:
    """Open a desk with the model that it has come to; begin it with `model` if there is none yet.

    Raise an `InputError` if `model` is none that the desk has had, or if the file of the model in force was changed.
    """
    events, digest = Events(db), file_digest(model)
    if not events.one("SELECT count(*) FROM models"):
        clf = load_model(model, given)
        with events.writing(person or owner()) as write:
            write.append("model", about_model(1, model, digest, clf, given))
        return Desk(events, Judge(clf, 1, path=model))
    if events.one("SELECT 1 FROM models WHERE digest = ?", digest) is None:
        raise InputError("desk-another-model", path=model, db=db)
    return Desk(events, judge_in_force(events, {digest: model}))


def judge_in_force(events: Events, known: Mapping[str, Path] | None = None) -> Judge:
    """Return the model in force; `known` are paths of files by their digests, where files have moved."""
    body = events.of_kind("model")[-1].body
    path = (known or {}).get(body["digest"], Path(body["file"]))
    return judge_of(path, body["digest"], body["number"], body["given"], terms_of(events).min_trust)


def judge_of(path: Path, digest: str, number: int, given: Mapping[str, Any] | None, min_trust: float | None) -> Judge:
    """Return the model in a file; raise an `InputError` if the file has not this digest."""
    if not path.exists() or file_digest(path) != digest:
        raise InputError("desk-model-changed", path=path, number=number)
    return Judge(load_model(path, given), number, min_trust, path)


def in_force(desk: Desk) -> dict[str, Any]:
    """Return what another process needs to know to judge as a desk does."""
    judge, model = desk.judge, desk.events.of_kind("model")[-1].body
    kept = {name: model[name] for name in ("digest", "number", "given")}
    path = str(judge.path or model["file"])
    return {"db": str(desk.events.path), "model": path, "min_trust": judge.min_trust, **kept}


def about_model(
    number: int, path: Path, digest: str, clf: Any, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the event of a model that is put in force."""
    promise = clf.promise
    kept = None if promise is None or not promise.is_kept else promise.message
    return {
        "number": number,
        "file": str(path.resolve()),
        "digest": digest,
        "promise": kept,
        "given": None if given is None else dict(given),
    }


def model_file(db: Path, number: int) -> Path:
    """Return where the file of a new model goes: beside the desk."""
    return db.with_name(f"{db.name.removesuffix('.db')}-{number}.sepc")


def owner() -> str:
    """Return who starts a desk: the user's name on this machine."""
    try:
        return getuser()
    except (KeyError, OSError):  # no name for the number of the user
        return "owner"
