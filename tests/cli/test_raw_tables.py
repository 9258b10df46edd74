"""Five raw tables as people have them, each through all commands: read right, and told what is wrong with it."""

import csv
import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from command_line import as_csv, do

from sepc.cli.labelled_tables import read_labelled_table
from sepc.cli.parser import make_parser

N = 120
OF_VALUES = {"sentinel-value", "code-as-number", "value-in-two-spellings"}


@dataclass(frozen=True)
class Raw:
    """A raw table of n rows: its text, what commands are told of it, and what they must find in it."""

    text: bytes
    target: str
    options: str  # how the file is read
    drop: str  # columns that the fit leaves out
    columns: dict  # values that must be read; None where there is none
    kinds: dict  # of the columns that the model keeps
    labels: list
    findings: set  # codes that the landscape tells, among others
    separator: str = ","
    n: int = N  # rows with a label


def german(number, digits):
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def clinic(seed):
    """Visits: semicolons, decimal commas, units, dates and times of day, in Latin-1."""
    rng = np.random.default_rng(seed)
    ill = rng.random(N) < 0.45
    fever = (36.7 + 1.4 * ill + 0.5 * rng.normal(size=N)).round(1)
    weight = (75.0 + 12.0 * rng.normal(size=N)).round(1)
    days = [date(2023, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 700, N)]
    minutes = rng.integers(8 * 60, 18 * 60, N)
    smoker = rng.choice(["ja", "nein", ""], N, p=[0.3, 0.6, 0.1])
    rows = [
        [f"{day:%d.%m.%Y}", f"{m // 60}:{m % 60:02}", f"{german(t, 1)} °C", f"{german(w, 1)} kg", s, y]
        for day, m, t, w, s, y in zip(
            days, minutes, fever, weight, smoker, np.where(ill, "grippal", "gesund"), strict=True
        )
    ]
    names = ("Besuch", "Uhrzeit", "Temperatur (°C)", "Gewicht", "Raucher", "Befund")
    return Raw(
        as_csv(rows, names, ";").encode("latin-1"),
        "Befund",
        "--encoding latin-1",
        "",
        {
            "Temperatur (°C)": fever.tolist(),
            "Gewicht": weight.tolist(),
            "Besuch": [datetime(day.year, day.month, day.day) for day in days],
            "Uhrzeit": (minutes / 60).tolist(),
        },
        {
            "Besuch": "date",
            "Uhrzeit": "number",
            "Temperatur (°C)": "number",
            "Gewicht": "number",
            "Raucher": "category",
        },
        [row[-1] for row in rows],
        {"missing-values"},
        ";",
    )


def loans(seed):
    """Loans: dollars with commas between thousands, percentages, dates in words, postcodes that begin with zeros."""
    rng = np.random.default_rng(seed)
    bad = rng.random(N) < 0.4
    amount = np.round(rng.lognormal(9.3, 0.5, N), -1)
    rate = (6.0 + 5.0 * bad + 1.5 * rng.normal(size=N)).round(2)
    score = np.rint(690.0 - 70.0 * bad + 40.0 * rng.normal(size=N))
    days = [date(2021, 1, 5) + timedelta(days=int(k)) for k in rng.integers(0, 400, N)]
    zips = [f"{k:05d}" for k in rng.integers(501, 99950, N)]
    rows = [
        [f"${a:,.0f}", f"{r}%", f"{s:.0f}", f"{day:%b %d, %Y}", z, y]
        for a, r, s, day, z, y in zip(amount, rate, score, days, zips, np.where(bad, "default", "paid"), strict=True)
    ]
    return Raw(
        as_csv(rows, ("amount", "rate", "score", "opened", "zip", "status")).encode("utf-8-sig"),
        "status",
        "",
        "zip opened",
        {
            "amount": amount.tolist(),
            "rate": [pytest.approx(r / 100) for r in rate],
            "score": score.tolist(),
            "opened": [datetime(day.year, day.month, day.day) for day in days],
        },
        {"amount": "number", "rate": "number", "score": "number"},
        [row[-1] for row in rows],
        {"code-as-number"},
    )


def sensors(seed):
    """A log of sensors: two lines above the names, tabs, time stamps, and -999.0 where a sensor was silent."""
    rng = np.random.default_rng(seed)
    fault = rng.random(N) < 0.4
    heat = (60.0 + 14.0 * fault + 6.0 * rng.normal(size=N)).round(1)
    shake = np.abs(0.4 + 1.1 * fault + 0.4 * rng.normal(size=N)).round(3)
    silent = rng.choice(N, 9, replace=False)
    start = datetime(2024, 3, 1)
    rows = [
        [f"{start + timedelta(minutes=10 * k):%Y-%m-%d %H:%M}", f"{h}", f"{s}", mode, y]
        for k, (h, s, mode, y) in enumerate(
            zip(heat, shake, rng.choice(["auto", "hand"], N), np.where(fault, "fault", "ok"), strict=True)
        )
    ]
    for k in silent:
        rows[k][1] = "-999.0" if k % 2 else "-999"
        rows[k][2] = "-999.000"
    missing = set(silent.tolist())
    return Raw(
        (
            "# device 7\n# exported 2024-03-08\n" + as_csv(rows, ("time", "heat", "shake", "mode", "state"), "\t")
        ).encode(),
        "state",
        "--skip-rows 2 --missing=-999",
        "time",
        {
            "heat": [None if k in missing else h for k, h in enumerate(heat.tolist())],
            "shake": [None if k in missing else s for k, s in enumerate(shake.tolist())],
            "time": [start + timedelta(minutes=10 * k) for k in range(N)],
        },
        {"heat": "number", "shake": "number", "mode": "category"},
        [row[-1] for row in rows],
        {"missing-values", "missing-together"},
    )


def survey(seed):
    """A survey: yes, YES and blanks, 99 for no answer on a scale of 1 to 5, rows without a label."""
    rng = np.random.default_rng(seed)
    leaves = rng.random(N) < 0.45
    joy = np.clip(np.rint(3.6 - 1.9 * leaves + 0.7 * rng.normal(size=N)), 1, 5)
    years = np.round(np.abs(rng.normal(6.0, 3.0, N) - 2.5 * leaves), 1)
    car = rng.choice(["Yes", "yes", "No", "no", ""], N, p=[0.3, 0.2, 0.3, 0.1, 0.1])
    joy[rng.choice(N, 6, replace=False)] = 99
    labels = np.where(leaves, "leave", "stay").astype(object)
    labels[[2, 90, 110]] = ["", "NA", ""]
    rows = [[f"{j:.0f}", f"{y}", c, label] for j, y, c, label in zip(joy, years, car, labels, strict=True)]
    used = [k for k in range(N) if k not in (2, 90, 110)]
    return Raw(
        as_csv(rows, ("joy", "years", "has car?", "plan")).encode(),
        "plan",
        "--unlabelled drop",
        "",
        {
            "joy": joy[used].tolist(),
            "years": years[used].tolist(),
            "has car?": [value or None for value in car[used].tolist()],
        },
        {"joy": "number", "years": "number", "has car?": "category"},
        labels[used].tolist(),
        {"sentinel-value", "value-in-two-spellings", "missing-values"},
        n=len(used),
    )


def sales(seed):
    """An export of sales: euros with points between thousands, discounts in per cent, and a line of totals."""
    rng = np.random.default_rng(seed)
    back = rng.random(N) < 0.4
    price = np.round(np.exp(6.5 + 1.1 * back + 0.6 * rng.normal(size=N)), 2)
    discount = np.clip(np.rint(12.0 + 14.0 * back + 6.0 * rng.normal(size=N)), 0, 60)
    pieces = 1.0 + rng.poisson(2.0, N)
    rows = [
        [shop, f"{p:.0f}", f"{german(e, 2)} €", f"{d:.0f} %", y]
        for shop, p, e, d, y in zip(
            rng.choice(["Köln", "Bonn", "Graz"], N),
            pieces,
            price,
            discount,
            np.where(back, "zurück", "behalten"),
            strict=True,
        )
    ]
    rows.append(["Summe", f"{pieces.sum():.0f}", f"{german(price.sum(), 2)} €", "", ""])
    return Raw(
        as_csv(rows, ("Filiale", "Stück", "Umsatz", "Rabatt", "Verbleib"), ";").encode(),
        "Verbleib",
        "--skip-footer 1",
        "",
        {"Umsatz": price.tolist(), "Stück": pieces.tolist(), "Rabatt": [pytest.approx(d / 100) for d in discount]},
        {"Filiale": "category", "Stück": "number", "Umsatz": "number", "Rabatt": "number"},
        [row[-1] for row in rows[:-1]],
        set(),
        ";",
    )


TABLES = {"clinic": clinic, "loans": loans, "sensors": sensors, "survey": survey, "sales": sales}


def told(capsys, line):
    capsys.readouterr()
    assert do(f"{line} --json") == 0, line
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name):
    """Write a table, and later rows of the same form; return both."""
    raw, later = TABLES[name](1), TABLES[name](2)
    Path("raw.csv").write_bytes(raw.text)
    Path("later.csv").write_bytes(later.text)
    return raw, later


def answers(separator):
    with open("out.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=separator))


@pytest.mark.slow
@pytest.mark.usefixtures("in_folder")
@pytest.mark.parametrize("name", TABLES)
def test_a_raw_table_goes_through_all_commands(name, capsys):
    raw, later = write(name)
    form, labelled = raw.options.replace("--unlabelled drop", ""), f"--target {raw.target} {raw.options}"

    data = read_labelled_table(make_parser().parse_args(["landscape", "raw.csv", *labelled.split()]))
    assert data.labels.tolist() == raw.labels
    for column, values in raw.columns.items():
        assert data.table[column].to_pylist() == values, column

    view = told(capsys, f"landscape raw.csv {labelled}")
    assert view["n_records"] == raw.n
    codes = {finding["code"] for finding in view["findings"]}
    assert raw.findings <= codes
    assert not (codes - raw.findings) & {*OF_VALUES, "missing-values", "label-leak", "id-as-feature"}

    fit = f"{labelled} {f'--drop {raw.drop}' if raw.drop else ''}"
    found = told(capsys, f"fit raw.csv {fit} --holdout 0.25 --max-error 0.25 -o m.sepc")
    assert found["unlabelled"] == N - raw.n
    assert found["test"]["rows"] == pytest.approx(raw.n / 4, abs=1)
    assert found["test"]["right"] >= 0.75 * found["test"]["rows"]
    assert {finding["code"] for finding in found["findings"]} == (OF_VALUES & raw.findings) - {"code-as-number"}
    shown = told(capsys, "inspect m.sepc")
    assert {one["name"]: one["kind"] for one in shown["columns"]} == raw.kinds
    promise = found["promise"]
    assert shown["promise"]["min_trust"] == promise["min_trust"]

    assert do(f"predict m.sepc later.csv {form} -o out.csv") == 0
    verdicts = answers(raw.separator)
    assert len(verdicts) == N
    truth = [row[raw.target] for row in verdicts]
    n_right = sum(row["label"] == label for row, label in zip(verdicts, truth, strict=True))
    assert n_right >= 0.75 * N
    n_accepted = sum(row["accepted"] == "true" for row in verdicts)
    assert n_accepted == 0 if promise["min_trust"] is None else n_accepted > 0.5 * N
    why = told(capsys, f"explain m.sepc later.csv {form} --row 3")
    assert (why["label"], why["trust"]) == (verdicts[2]["label"], float(verdicts[2]["trust"].replace(",", ".")))
    assert {one["feature"] for one in why["features"]} <= set(raw.kinds)
    assert set(why["neighbours"][0]["values"]) == set(raw.kinds)

    made = told(capsys, f"promise m.sepc later.csv {labelled} --max-error 0.3 -o p.sepc")
    assert (made["unlabelled"], made["promise"]["n_calibration"] > 0.9 * later.n) == (N - later.n, True)
    assert do(f"fit later.csv {fit} -o other.sepc -q") == 0
    both = told(capsys, f"compare m.sepc other.sepc later.csv --target {raw.target} {form}")
    assert (both["n"], both["n_labelled"]) == (N, later.n)
    assert both["a"]["right"] == n_right
    seen = told(capsys, f"feedback m.sepc later.csv --target {raw.target} {form} --labels all")["feedback"]
    assert (seen["n"], seen["n_labelled"], seen["n_right"]) == (N, later.n, n_right)
    assert do(f"report later.csv --model m.sepc {labelled} --max-records 2 -o r.json") == 0
    content = json.loads(Path("r.json").read_text())
    assert (content["results"]["n_records"], len(content["verdicts"])) == (later.n, 2)
    assert OF_VALUES & {one["code"] for one in content["landscape"]["findings"]} == (
        (OF_VALUES & raw.findings) - {"code-as-number"}
    )


@pytest.mark.usefixtures("in_folder")
class TestWithoutTheSwitches:
    def test_silent_sensors_are_found_and_refused_as_beyond(self, capsys):
        raw, _ = write("sensors")
        found = told(capsys, f"landscape raw.csv --target {raw.target} --skip-rows 2")
        (finding,) = (one for one in found["findings"] if one["code"] == "sentinel-value")
        assert finding["title"] == "-999 may stand for a missing value: heat, shake"
        assert "--missing=-999" in finding["remedy"]
        assert do(f"fit raw.csv --target {raw.target} {raw.options} --drop {raw.drop} -o m.sepc -q") == 0
        assert do("predict m.sepc later.csv --skip-rows 2 -o out.csv") == 0
        silent = [row for row in answers(",") if float(row["heat"]) == -999]
        assert len(silent) == 9
        assert {row["accepted"] for row in silent} == {"false"}
        assert {row["beyond"] for row in silent} == {"shake"}

    def test_lines_above_a_footer_and_gaps_among_labels_are_refused_with_their_switches(self, capsys):
        for name, row, switch in (
            ("sensors", "'# device 7'", "--skip-rows"),
            ("sales", "row 121", "--skip-footer 1"),
            ("survey", "3 of 120", "--unlabelled drop"),
        ):
            raw, _ = write(name)
            capsys.readouterr()
            assert do(f"fit raw.csv --target {raw.target} -o m.sepc") == 1
            told_of_it = capsys.readouterr().err
            assert row in told_of_it
            assert switch in told_of_it
