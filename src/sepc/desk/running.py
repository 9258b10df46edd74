"""Running a desk: from a fitted classifier in Python, and the server itself."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.around import GivenScores, TrustedClassifier
from sepc.common.errors import InputError, SepcError
from sepc.common.frames import as_frame
from sepc.desk.batches import Batch
from sepc.desk.desk import Desk, Filters
from sepc.desk.events import Events
from sepc.desk.intake import Terms
from sepc.desk.judge import file_digest
from sepc.desk.listening import Address, bound, run_server
from sepc.desk.opening import model_file, open_desk, owner
from sepc.desk.security import new_token
from sepc.persist import save

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

UPLOAD_BYTES = 64 << 20
_ANSWER, _INDEX = "answer", "index"


def run(
    clf: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    name: str = "records",
    people: Sequence[str] = (),
    terms: Terms = Terms(),  # noqa: B008
    groups: Any = None,
    address: Address = Address(),  # noqa: B008
    on_start: Callable[[Mapping[str, str]], None] | None = None,
) -> None:
    """Open a review desk for new records, and serve it until it is interrupted.

    Refused records, and a random sample of all, wait there for people. The same call goes on where it has stopped.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline
        Fitted. The desk keeps a copy of it beside its file. Of a model around another one, it keeps what that says of
        `X` as columns, and so needs its probabilities or labels.
    X : frame or array-like of shape (n, n_columns)
        New records; columns that the classifier does not read are shown, too.
    path : path-like
        File of the desk; made if it is not there.
    name : str, default="records"
        Of these records.
    people : sequence of str, optional
        Names of those who decide; by default the user's. Each has an address of their own.
    terms : Terms, optional
        Shares of records in the random sample, and with a second opinion; whether audits are blind; from which trust
        on labels are accepted.
    groups : array-like of shape (n,), optional
        The groups that the records belong to, where the classifier has signed a promise by groups.
    address : Address, optional
        By default port 8642 of this machine alone.
    on_start : callable, optional
        Called with the address of each person once the desk is open; by default they are printed.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> run(clf, [[0.5], [3.5]], "new.desk.db", people=["ada"])  # doctest: +SKIP
    ada: http://127.0.0.1:8642/?token=...
    """
    db = Path(path)
    shown = _as_table(clf, X)
    rows, given = _with_answers(
        clf, shown.select([str(one) for one in getattr(clf, "feature_names_in_", shown.column_names)])
    )
    desk = open_desk(db, _saved(clf, db), given=given)
    texts = None if groups is None else np.array([str(group) for group in np.asarray(groups).ravel()], dtype=object)
    batch = Batch(shown, rows, texts, np.zeros(rows.num_rows, dtype=bool), 1)
    desk.agree(owner(), terms)
    digest = batch.digest()
    if not desk.knows(digest):
        desk.add(owner(), name, digest, [batch])
    serve(desk, address, people, on_start=on_start)


def _saved(clf: Any, db: Path) -> Path:
    """Return the file of a classifier beside a desk: one that is there already if it is the same one."""
    made = model_file(db, 0)
    save(clf, made)
    first = model_file(db, 1)
    if db.exists() and first.exists() and file_digest(first) != file_digest(made):
        made.unlink()
        raise InputError("desk-another-model", path="clf", db=db)
    made.replace(first)
    return first


def _as_table(clf: Any, X: Any) -> pa.Table:
    """Return records as a table; those of an array have the names of the features, an index without a name has one."""
    frame = as_frame(X)
    if frame is not None:
        table = frame.to_arrow().replace_schema_metadata(None)
        return table.rename_columns([_INDEX if name == "__index_level_0__" else name for name in table.column_names])
    values = np.asarray(X, dtype=np.float64).reshape(len(X), -1)
    names = [str(feature) for feature in clf.core.by_regions.model_.features]
    if len(names) != values.shape[1]:
        raise InputError("desk-not-a-table", n_columns=values.shape[1], n_features=len(names))
    return pa.table(dict(zip(names, values.T, strict=True)))


def _with_answers(clf: Any, table: pa.Table) -> tuple[pa.Table, dict[str, Any] | None]:
    """Return records with what another model says of them in columns, and the names of these; None without a model."""
    core = clf.core
    if not isinstance(core, TrustedClassifier) or isinstance(core.estimator_, GivenScores):
        return table, None if not isinstance(core, TrustedClassifier) else core.estimator_.get_params()
    frame = table.to_pandas()
    answers = core.answers(frame)
    labels = [str(label) for label in core.classes_.tolist()]
    table = table.append_column(_ANSWER, pa.array(np.asarray(core.classes_)[answers.codes].tolist()))
    if not hasattr(core.estimator_, "predict_proba"):
        return table, {"label": _ANSWER}
    columns = {label: f"{_ANSWER}: {label}" for label in labels}
    for column, scores in zip(columns.values(), np.asarray(core.estimator_.predict_proba(frame)).T, strict=True):
        table = table.append_column(column, pa.array(scores))
    return table, {"scores": columns, "label": _ANSWER}


def serve(
    desk: Desk,
    address: Address,
    people: Sequence[str] = (),
    *,
    on_start: Callable[[Mapping[str, str]], None] | None = None,
    **served: Any,
) -> None:
    """Serve a desk until it is interrupted.

    Each of `people` gets a token; without any the owner gets one. `served` are further fields of `app.Served`, and
    ``training`` is what `jobs.Jobs` takes.
    """
    try:
        import uvicorn  # noqa: F401

        from sepc.desk.app import Served, application
    except ModuleNotFoundError as error:
        raise SepcError("desk-not-installed", module=error.name) from error
    from sepc.desk.ahead import Ahead
    from sepc.desk.jobs import Jobs

    address.check()
    with _only_one(desk.events.path), bound(address) as listening:
        port = listening.getsockname()[1]
        jobs, ahead = Jobs(desk, training=served.pop("training", None)), Ahead(desk)
        app = application(
            Served(desk, jobs, ahead, **served),
            address.hosts,
            f"sepc-desk-{port}",
            is_secure=address.is_secure,
            upload_bytes=UPLOAD_BYTES,
        )
        tokens = _tokens(desk.events, people)
        ahead.after(next(iter(tokens)), Filters(), "trust")
        try:
            urls = {person: address.url(port, token) for person, token in tokens.items()}
            run_server(app, address, listening, partial(on_start or _print, urls), timeout_graceful_shutdown=1)
        finally:
            jobs.cancel()
            ahead.end()
            desk.events.close()


def _tokens(events: Events, people: Sequence[str]) -> dict[str, str]:
    """Return new tokens of people, who are on the desk from now on."""
    found = {}
    for person in people or [owner()]:
        if not person.strip() or len(person) > 100:
            raise InputError("desk-person-name", person=person)
        if events.one("SELECT 1 FROM people WHERE person = ?", person) is None:
            with events.writing(person) as write:
                write.append("person", {"name": person})
        found[person] = new_token(events, person)
    return found


def _print(addresses: Mapping[str, str]) -> None:
    for person, url in addresses.items():
        print(f"{person}: {url}", flush=True)


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """Keep a second server off the same file; others may still add records to it."""
    with path.with_name(f"{path.name}.lock").open("w") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError("desk-open-already", path=path) from error
        yield
