"""A review desk under load: people at once, a long queue, and a server that is killed at random moments.

Prints Markdown tables. The desk runs as a process of its own, the people are threads of another, on the same machine.
``--kills`` is the number of kills, ``--seconds`` how long 20 people work, ``--records`` the length of the long queue;
0 leaves a part out.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from desk_clients import Client, Server, at_once
from measure import recording, row, table, versions
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier, save
from sepc.desk.events import Events

PEOPLE = [f"person {k}" for k in range(1, 21)]
# From a trust of 1 on: every record is asked.
EVERYTHING = "--min-trust", "1", "--audit", "0.05"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="kills under load (default: 200)")
    parser.add_argument("--seconds", type=float, default=120.0, help="seconds of load (default: 120)")
    parser.add_argument("--records", type=int, default=100_000, help="records of the long queue (default: 100,000)")
    parser.add_argument("--lanes", type=int, default=1, help="desks that are killed at once (default: 1)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(versions("sepc", "starlette", "uvicorn", "numpy"))
        place = Path(folder)
        model, clf = place / "model.sepc", wdbc_model()
        save(clf, model)
        if options.seconds:
            people_at_once(place, model, options.seconds)
        if options.records:
            long_queue(place, model, options.records)
        if options.kills:
            kills(place, model, options.kills, options.lanes)


def wdbc_model() -> SEPClassifier:
    X, y = wdbc()
    return SEPClassifier().fit(X[::2], y[::2])


def wdbc() -> tuple[pd.DataFrame, np.ndarray]:
    data = load_breast_cancer(as_frame=True)
    return data.data, data.target_names[data.target]


def new_records(path: Path, n: int) -> Path:
    """Write n records that are drawn from those of WDBC, each a little changed."""
    X, _ = wdbc()
    rng = np.random.default_rng(0)
    drawn = X.iloc[rng.integers(0, len(X), n)].to_numpy() * rng.normal(1.0, 0.02, (n, X.shape[1]))
    pd.DataFrame(np.abs(drawn), columns=X.columns).round(5).to_csv(path, index=False)
    return path


def answer(record: int) -> str:
    return "benign" if record % 3 else "malignant"


def clients_of(server: Server) -> list[Client]:
    return [Client(url, person, answer) for person, url in server.urls.items()]


def people_at_once(place: Path, model: Path, seconds: float) -> None:
    db, data = place / "load.db", new_records(place / "load.csv", 8000)
    server = Server(model, data, db, PEOPLE, *EVERYTHING)
    time.sleep(5.0)  # the first people come some seconds after a desk has opened
    clients = clients_of(server)
    for client in clients:
        client.seconds.clear()
    for thread in at_once(clients, seconds, 0.5):
        thread.join()
    assert server.end() == 0
    spent = np.sort(np.concatenate([client.seconds for client in clients]))
    saved = [one for client in clients for one in client.saved]
    errors = [one for client in clients for one in client.errors]
    kept = Events(db).rows("SELECT record, label FROM decisions")
    lost = Counter(saved) - Counter((one["record"], one["label"]) for one in kept)
    doubled = len(kept) - len({one["record"] for one in kept})
    n, _ = Events(db).verify()
    print("### 20 people with 2 decisions a second each\n")
    table("load", "what", "measured")
    row("decisions", f"{len(saved):,}")
    row("requests", f"{len(spent):,}")
    row("errors", f"{len(errors):,}")
    row("lost decisions", f"{sum(lost.values()):,}")
    row("doubled decisions", f"{doubled:,}")
    row("median, ms", f"{1e3 * spent[len(spent) // 2]:.0f}")
    row("95 % of answers within, ms", f"{1e3 * np.quantile(spent, 0.95):.0f}")
    row("slowest, ms", f"{1e3 * spent[-1]:.0f}")
    row("events, all verified", f"{n:,}")
    print(errors[:5])


def long_queue(place: Path, model: Path, n: int) -> None:
    """Print how long the pages of a long queue take to come."""
    db, data = place / "long.db", new_records(place / "long.csv", n)
    start = time.perf_counter()
    server = Server(model, data, db, ["ada"], *EVERYTHING)
    added = time.perf_counter() - start
    server.end()
    start = time.perf_counter()
    server = Server(model, data, db, ["ada"], *EVERYTHING)
    opened = time.perf_counter() - start
    client = clients_of(server)[0]
    pages = {}
    for name, path in (("queue", "/"), ("queue, searched", "/?search=17.9"), ("next record", "/next")):
        client.ask("GET", path)
        client.seconds.clear()
        for _ in range(5):
            client.ask("GET", path)
        pages[name] = float(np.median(client.seconds))
    server.end()
    print(f"\n### A queue of {n:,} records\n")
    table("long", "what", "seconds")
    row("to add the file, and open", f"{added:.1f}")
    row("to open again", f"{opened:.1f}")
    for name, seconds in pages.items():
        row(f"page: {name}", f"{seconds:.2f}")


def kills(place: Path, model: Path, n: int, lanes: int) -> None:
    """Kill desks at random moments while eight people decide as fast as they can; count what is missing after."""
    data = new_records(place / "kills.csv", 4000)
    with ThreadPoolExecutor(lanes) as pool:
        shares = [(n + lane) // lanes for lane in range(lanes)]
        found = list(
            pool.map(lambda lane: killed(place / f"kills-{lane}.db", model, data, shares[lane], lane), range(lanes))
        )
    n_saved, n_lost, n_broken = (sum(counts) for counts in zip(*found, strict=True))
    print(f"\n### {n} kills under load\n")
    table("kills", "what", "number")
    row("decisions answered with saved", f"{n_saved:,}")
    row("of these lost", f"{n_lost:,}")
    row("files that did not verify", f"{n_broken:,}")


def killed(db: Path, model: Path, data: Path, n: int, seed: int) -> tuple[int, int, int]:
    """Kill one desk n times; return how many decisions were saved, how many of these lost, and unverified files."""
    chance = random.Random(seed)
    n_saved = n_lost = n_broken = 0
    for _ in range(n):
        server = Server(model, data, db, PEOPLE[:8], *EVERYTHING)
        clients = clients_of(server)
        threads = at_once(clients, 60.0)
        time.sleep(chance.uniform(0.05, 1.5))
        server.kill()
        for thread in threads:
            thread.join()
        lost, is_whole = after_kill(db, clients)
        n_saved += sum(len(client.saved) for client in clients)
        n_lost, n_broken = n_lost + lost, n_broken + (not is_whole)
    server = Server(model, data, db, PEOPLE[:8], *EVERYTHING)
    assert server.end() == 0
    return n_saved, n_lost, n_broken


def after_kill(db: Path, clients: list[Client]) -> tuple[int, bool]:
    """Return how many saved decisions are not in the file of a desk, and whether the file verifies."""
    events = Events(db)
    kept = {(one["record"], one["label"]) for one in events.rows("SELECT record, label FROM decisions")}
    lost = sum(one not in kept for client in clients for one in client.saved)
    try:
        events.verify()
    except ValueError:
        return lost, False
    finally:
        events.close()
    return lost, True


if __name__ == "__main__":
    with recording():
        main()
