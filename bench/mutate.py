"""Mutation testing: makes small mistakes in the code of a room, one at a time; counts those that its tests notice.

A *room* is a folder of the package with the tests that mirror it. First all tests of the room run once on the code as
it is, and a tracer notes which lines each of them reaches; those that fail, cannot be imported or take longer than
``--limit`` are left out and counted. Then each mutant of a sample is run by the tests that reach its line, cheap ones
first, until one fails. A mutant is *killed* when one does, *timed out* when they take much longer than before, and
*survived* otherwise; survivors that cannot be told from the code, or differ in speed alone, are listed with a reason in
`mutants_explained.toml`.

A mutant lives in memory: an import hook compiles the mutated module in a forked process, so that files and compiled
kernels are shared by all of them. Mutants of a kernel are interpreted, together with all other kernels
(``numba.config.DISABLE_JIT``): a tracer cannot look into compiled code, and each would be compiled anew.

    python bench/mutate.py --room geometry --jobs 16 --out mutants.csv

The file of results is continued by the same command: of a module that has changed all mutants run again, and survivors
when the tests have changed. Without ``--room`` it is shown as a table.

mutmut and cosmic-ray do this in general. mutmut skips decorated functions, which are our kernels, properties and
validated methods; cosmic-ray writes each mutant into the working tree, with one test command for all. Neither
takes a sample by a seed or knows that a kernel must be interpreted, and both need packages that few machines have.
"""

import argparse
import ast
import csv
import hashlib
import importlib.abc
import importlib.machinery
import multiprocessing
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "sepc"
EXPLAINED = Path(__file__).with_name("mutants_explained.toml")
BETS = ("bets", "chances", "drift", "error_watch", "promise_watch", "watched")
# Modules and tests of rooms that are more or less than a folder.
ROOMS = {
    "bets": tuple(tuple(f"feedback/{name.format(module)}.py" for module in BETS) for name in ("{}", "test_{}")),
    "calibration": (
        ("estimators/calibrating.py", "estimators/_calibration_loss.py", "model/calibration.py"),
        ("estimators/test_calibrating.py",),
    ),
}
COLUMNS = ("room", "mutant", "line", "outcome", "by", "seconds", "code", "tests")
MEMORY = 6 * 2**30  # a mutant that asks for more is killed
PRELOADED = (
    "numpy",
    "numba",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.special",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.datasets",
    "sklearn.model_selection",
    "pandas",
    "narwhals",
    "hypothesis.strategies",
    "pytest",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--room", action="append", default=[], help="folder of the package, bets, calibration; repeatable"
    )
    parser.add_argument("--most", type=int, default=60, help="mutants of a room at most (default 60); 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--limit", type=float, default=10.0, help="seconds of CPU time that a test may take (default 10)"
    )
    parser.add_argument("--out", type=Path, help="results, as CSV")
    parser.add_argument("--show", action="store_true", help="list the sample and stop")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    multiprocessing.set_start_method("forkserver")
    multiprocessing.set_forkserver_preload(list(PRELOADED))
    for name in options.room:
        room = Room(name)
        chosen = room.sample(options.most, options.seed)
        if options.show:
            for mutant in chosen:
                print(f"{mutant.path}:{mutant.line}: {mutant.name}")
        else:
            run_room(room, chosen, options)
    if options.out and options.out.exists() and not options.show:
        for number, row in enumerate(counted(read(options.out))):
            print(f"| {' | '.join(row)} |" + ("\n|" + "---|" * len(row) if number == 0 else ""))


def read(path: Path) -> list[dict[str, str]]:
    """Return the results in a file, the last one of each mutant."""
    with path.open(newline="") as file:
        return list({(line["room"], line["mutant"]): line for line in csv.DictReader(file)}.values())


def counted(results: list[dict[str, str]]) -> list[list[str]]:
    """Return counts by room and module, below a line of titles."""
    explained = explanations()
    counts: dict[tuple[str, str], Counter] = defaultdict(Counter)
    for line in results:
        module = line["mutant"].partition(":")[0]
        outcome = "explained" if line["outcome"] == "survived" and line["mutant"] in explained else line["outcome"]
        for key in ((line["room"], module), (line["room"], "all")):
            counts[key][outcome] += 1
    outcomes = ("killed", "timed out", "explained", "survived")
    rows = [["room", "module", "mutants", *outcomes]]
    for (room, module), count in sorted(counts.items(), key=lambda item: (item[0][0], item[0][1] == "all", item[0][1])):
        rows.append([room, module, str(count.total()), *(str(count[outcome]) for outcome in outcomes)])
    return rows


def explanations() -> dict[str, str]:
    """Return the survivors that no test can kill, with the reasons."""
    return tomllib.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}


# ---- mutants -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """A mistake: `name` stays the same while lines around it change."""

    path: str  # of the module, below the package
    line: int
    lines: range  # of its statement, or empty outside of functions
    name: str
    number: int  # of the mutation, among those of its module
    interpreted: bool


class Room:
    """Modules, and the tests that belong to them."""

    def __init__(self, name: str) -> None:
        modules, tests = ROOMS.get(name, ((name,), (name,)))
        self.name = name
        self.modules = [path for module in modules for path in python_files(SOURCE / module)]
        self.tests = [str(ROOT / "tests" / test) for test in tests if (ROOT / "tests" / test).exists()]
        if not self.modules or not self.tests:
            sys.exit(f"--room names {name!r}; expected {', '.join(ROOMS)} or a folder of {SOURCE} that has tests.")

    def sample(self, most: int, seed: int) -> list[Mutant]:
        """Return mutants, as many of each module as its share of all; a larger sample continues a smaller one."""
        everything = [mutant for path in self.modules for mutant in mutants(path)]
        random.Random(seed).shuffle(everything)
        return everything[: most or None]

    def digest(self) -> str:
        files = sorted(path for test in self.tests for path in python_files(Path(test)))
        return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def python_files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def mutants(path: Path) -> list[Mutant]:
    """Return all mutants of a module."""
    found, named = [], Counter()
    below = str(path.relative_to(SOURCE))
    for number, (node, lines, place, interpreted, what, _) in enumerate(mutations(ast.parse(path.read_text()))):
        name = f"{below}:{place}: {' '.join(what.split())}"
        named[name] += 1
        again = f" #{named[name]}" if named[name] > 1 else ""
        found.append(Mutant(below, node.lineno, lines, name + again, number, interpreted))
    return found


def mutated(mutant: Mutant) -> ast.Module:
    """Return the tree of the mutated module."""
    tree = ast.parse((SOURCE / mutant.path).read_text())
    for number, (*_, apply) in enumerate(mutations(tree)):
        if number == mutant.number:
            apply()
            return ast.fix_missing_locations(tree)
    raise ValueError(mutant)


COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLED = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax", "floor": "ceil", "nanmin": "nanmax"}
CALLED |= {other: one for one, other in CALLED.items()}


def mutations(tree: ast.Module) -> Iterator[tuple]:
    """Yield each mutation of a tree: node, lines, function, whether that is a kernel, what changes, how to apply it."""
    kernels = any(is_kernel(node) for node in ast.walk(tree))
    for node, parents in with_parents(tree):
        inside = [p for p in parents if isinstance(p, ast.FunctionDef | ast.ClassDef)]
        place = ".".join(p.name for p in inside)
        interpreted = any(is_kernel(p) for p in inside) or (kernels and not inside)
        for what, apply in changes(node, parents[-1] if parents else tree):
            yield node, lines_of(node, parents), place, interpreted, what, apply


def lines_of(node: ast.AST, parents: tuple[ast.AST, ...]) -> range:
    """Return the lines of the statement that a node is part of, without those of statements in it."""
    if not any(isinstance(p, ast.FunctionDef) for p in parents):
        return range(0)
    statement = next(p for p in (node, *reversed(parents)) if isinstance(p, ast.stmt))
    inner = getattr(statement, "body", None)
    return range(statement.lineno, max(inner[0].lineno if inner else statement.end_lineno + 1, statement.lineno + 1))


def is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(d, ast.Name) and d.id in ("kernel", "part_of_kernel") for d in node.decorator_list
    )


def with_parents(node: ast.AST, parents: tuple[ast.AST, ...] = ()) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Yield the nodes that run, without annotations, decorators and what only a type checker reads."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield node, parents
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from with_parents(child, (*parents, node))


def changes(node: ast.AST, parent: ast.AST) -> Iterator[tuple]:
    """Yield the mutations of a node itself, as text and function."""

    def to(field: str, new: object, what: str) -> tuple:
        return what, lambda: setattr(node, field, new)

    def replaced(new: ast.AST, what: str) -> tuple:
        def apply() -> None:
            for name, value in ast.iter_fields(parent):
                if value is node:
                    setattr(parent, name, new)
                elif isinstance(value, list) and any(child is node for child in value):
                    value[[child is node for child in value].index(True)] = new

        return what, apply

    text = ast.unparse(node) if isinstance(node, ast.expr | ast.Assign | ast.AugAssign | ast.Return) else ""
    match node:
        case ast.Compare(ops=[op]):
            for other in COMPARED[type(op)]:
                yield to("ops", [other()], f"{text} -> {symbol(other)}")
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in COMPUTED:
            if not (
                isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant | ast.JoinedStr) and "'" in text
            ):
                other = COMPUTED[type(op)]
                yield to("op", other(), f"{text} -> {symbol(other)}")
        case ast.BoolOp(op=op):
            other = ast.Or if isinstance(op, ast.And) else ast.And
            yield to("op", other(), f"{text} -> {symbol(other)}")
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield replaced(node.operand, f"{text} -> {ast.unparse(node.operand)}")
        case ast.Constant(value=bool()):
            yield to("value", not node.value, f"{text} -> {not node.value}")
        case ast.Constant(value=int()):
            for value in (node.value + 1, node.value - 1):
                yield to("value", value, f"{text} -> {value}")
        case ast.Constant(value=float()):
            value = 2.0 * node.value or 1.0
            yield to("value", value, f"{text} -> {value}")
        case ast.If() | ast.IfExp():
            test = ast.UnaryOp(ast.Not(), node.test)
            yield to("test", test, f"if {ast.unparse(node.test)} -> not")
        case ast.Call(func=ast.Name(id=called)) if called in CALLED:
            yield to("func", ast.Name(CALLED[called], ast.Load()), f"{text} -> {CALLED[called]}")
        case ast.Call(func=ast.Attribute(attr=called)) if called in CALLED:
            func = ast.Attribute(node.func.value, CALLED[called], ast.Load())
            yield to("func", func, f"{text} -> {CALLED[called]}")
        case ast.Slice():
            for end in ("lower", "upper"):
                bound = getattr(node, end)
                if bound is not None and not isinstance(bound, ast.Constant):
                    yield to(end, ast.BinOp(bound, ast.Add(), ast.Constant(1)), f"[{text}] -> {end} + 1")
        case ast.Return(value=ast.expr()) if text != "return None":
            yield to("value", ast.Constant(None), f"{text} -> None")
        case ast.Raise() | ast.Break() | ast.Continue():
            yield replaced(ast.Pass(), f"{ast.unparse(node).partition('(')[0]} dropped")
        case ast.Expr(value=ast.Call()):
            yield replaced(ast.Pass(), f"{ast.unparse(node)} dropped")
    match node:
        case ast.AugAssign() | ast.Assign(targets=[ast.Subscript()]):
            yield replaced(ast.Pass(), f"{text} dropped")
        case ast.Call(func=ast.Name(id="range"), args=[*_, last]) if not isinstance(last, ast.Constant):
            shorter = ast.BinOp(last, ast.Sub(), ast.Constant(1))
            yield to("args", [*node.args[:-1], shorter], f"{text} -> one less")


def symbol(operator: type) -> str:
    names = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is"}
    names |= {ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
    names |= {ast.Div: "/", ast.FloorDiv: "//", ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>"}
    return names.get(operator, operator.__name__.lower())


# ---- tests ---------------------------------------------------------------------------------------------------------


@dataclass
class Baseline:
    """What the tests of a room do with the code as it is.

    `reached` has the lines (path, line) that each test reaches, in its run and in its fixtures, `seconds` the CPU time
    that it takes, and `left_out` why a test is not used.
    """

    reached: dict[str, set[tuple[str, int]]]
    seconds: dict[str, float]
    left_out: dict[str, str]

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant, or its module where it is outside of functions; file by file.

        The file that mirrors the module comes first, then those that cost the least.
        """
        lines = {(mutant.path, line) for line in mutant.lines}
        found = [
            test
            for test, reached in self.reached.items()
            if (reached & lines if lines else any(path == mutant.path for path, _ in reached))
        ]
        cost: Counter = Counter()
        for test in found:
            cost[file_of(test)] += self.seconds[test]
        mirror = "test_" + Path(mutant.path).name.lstrip("_")

        def order(test: str) -> tuple:
            file = file_of(test)
            return not file.endswith(mirror), cost[file], file, self.seconds[test]

        return sorted(found, key=order)


def file_of(test: str) -> str:
    return test.partition("::")[0]


class Watch:
    """Pytest plugin: the lines of some modules that each test reaches, and its CPU time.

    With `whole` functions count as a whole: interpreted kernels are slow enough without a note of each line.
    """

    def __init__(self, modules: list[Path], limit: float, whole: bool) -> None:
        self.paths = {str(path): str(path.relative_to(SOURCE)) for path in modules}
        self.limit, self.whole = limit, whole
        self.lines: set[tuple[str, int]] = set()
        self.fixtures: dict[int, set[tuple[str, int]]] = defaultdict(set)
        self.baseline = Baseline({}, {}, {})

    def __call__(self, frame, _event, _argument):
        """Trace calls, and lines of the modules alone."""
        path = self.paths.get(frame.f_code.co_filename)
        if path is None:
            return None
        if self.whole:
            self.lines.update((path, line) for _, _, line in frame.f_code.co_lines() if line)
            return None

        def each_line(frame, _event, _argument):
            self.lines.add((path, frame.f_lineno))
            return each_line

        return each_line(frame, "call", None)

    def noted(self, lines: set) -> Iterator[None]:
        """Note lines in a set, for as long as a hook lasts."""
        before, self.lines = self.lines, lines
        try:
            return (yield)
        finally:
            self.lines = before

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        return (yield from self.noted(self.fixtures[id(fixturedef)]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        def stop(*_):
            self.baseline.left_out[item.nodeid] = "too slow"
            pytest.fail("too slow")

        lines: set[tuple[str, int]] = set()
        start = time.process_time()
        sys.settrace(self)  # anew: an exception out of a tracer, such as that of `stop`, ends it
        signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.limit)
        result = yield from self.noted(lines)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            lines |= self.fixtures[id(definitions[-1])]
        if item.nodeid not in self.baseline.left_out:
            self.baseline.reached[item.nodeid] = lines
            self.baseline.seconds[item.nodeid] = time.process_time() - start
        return result

    def pytest_runtest_logreport(self, report):
        if not report.passed:
            self.baseline.left_out.setdefault(report.nodeid, "skipped" if report.skipped else "fails as it is")

    def pytest_collectreport(self, report):
        if not report.passed:
            self.baseline.left_out[report.nodeid] = "skipped" if report.skipped else "cannot be imported"


class Chosen:
    """Pytest plugin: some tests alone, in their order, and the first that fails."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: place for place, test in enumerate(tests)}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = self.failed or report.nodeid

    pytest_collectreport = pytest_runtest_logreport


class Mutated(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Import of one module from its mutated tree; all others come from their files."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        parts = Path("sepc", mutant.path).with_suffix("").parts
        super().__init__(".".join(parts[:-1] if parts[-1] == "__init__" else parts), str(SOURCE / mutant.path))

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        spec.loader = self
        return spec

    def get_code(self, _fullname):
        return compile(mutated(self.mutant), self.path, "exec", dont_inherit=True)


# ---- runs ----------------------------------------------------------------------------------------------------------


def run_room(room: Room, chosen: list[Mutant], options: argparse.Namespace) -> None:
    """Try the mutants of a room that the file of results does not have, and add them as they come."""
    digest, done = room.digest(), {}
    if options.out and options.out.exists():
        done = {line["mutant"]: line for line in read(options.out) if line["room"] == room.name}
    code = {str(path.relative_to(SOURCE)): hashlib.sha256(path.read_bytes()).hexdigest()[:12] for path in room.modules}

    def is_done(mutant: Mutant) -> bool:
        line = done.get(mutant.name)
        if line is None or line["code"] != code[mutant.path]:
            return False
        return line["outcome"] != "survived" or line["tests"] == digest

    todo = [mutant for mutant in chosen if not is_done(mutant)]
    baselines = {
        interpreted: baseline(room, interpreted, options.limit) for interpreted in {m.interpreted for m in todo}
    }
    with ThreadPoolExecutor(options.jobs) as pool:
        tries = {pool.submit(outcome, mutant, baselines[mutant.interpreted]): mutant for mutant in todo}
        for count, tried in enumerate(as_completed(tries), 1):
            mutant, (result, by, seconds) = tries[tried], tried.result()
            print(
                f"[{count}/{len(todo)}] {result}: {mutant.name} (line {mutant.line}) {by}", file=sys.stderr, flush=True
            )
            if options.out:
                with options.out.open("a", newline="") as file:
                    writer = csv.writer(file)
                    if file.tell() == 0:
                        writer.writerow(COLUMNS)
                    about = (room.name, mutant.name, mutant.line, result, by, f"{seconds:.0f}")
                    writer.writerow([*about, code[mutant.path], digest])


def baseline(room: Room, interpreted: bool, limit: float) -> Baseline:
    """Run all tests of a room on the code as it is."""
    found, _, printed = in_child(watch_all, (room, interpreted, limit), 3600.0)
    if found is None or not found.reached:
        sys.exit(f"{printed}\nThe tests of {room.name} could not be run.")
    left_out = ", ".join(f"{n} {why}" for why, n in Counter(found.left_out.values()).items()) or "none"
    how = "interpreted" if interpreted else "compiled"
    total = sum(found.seconds.values())
    print(f"{room.name}, {how}: {len(found.reached)} tests in {total:.0f} s; left out: {left_out}", file=sys.stderr)
    for test, why in found.left_out.items():
        print(f"  {why}: {test}", file=sys.stderr)
    return found


def outcome(mutant: Mutant, before: Baseline) -> tuple[str, str, float]:
    """Return what became of a mutant, the test that noticed it, and the seconds."""
    tests = before.tests(mutant)
    if not tests:
        return "survived", "no test reaches it", 0.0
    seconds = 20.0 + 5.0 * sum(before.seconds[test] for test in tests)
    start = time.monotonic()
    failed, code, _ = in_child(try_mutant, (mutant, tests, int(seconds)), 20.0 * seconds)
    took = time.monotonic() - start
    if failed is None:  # killed by a signal: of the limit of CPU time, or of the wall clock
        late = code in (-signal.SIGXCPU, -signal.SIGKILL)
        return ("timed out", "", took) if late else ("killed", f"ends with {code}", took)
    return ("killed" if failed else "survived"), failed, took


def in_child(call, arguments: tuple, timeout: float) -> tuple:
    """Return what a function returns in a process of its own, or None, the exit code, and what is printed."""
    with tempfile.TemporaryDirectory() as folder:
        answer, printed = Path(folder, "answer"), Path(folder, "printed")
        printed.touch()
        child = multiprocessing.Process(target=answered, args=(call, arguments, answer, printed))
        child.start()
        child.join(timeout)
        child.kill()
        child.join()
        result = pickle.loads(answer.read_bytes()) if answer.exists() else None
        return result, child.exitcode, printed.read_text(errors="replace")


def answered(call, arguments: tuple, answer: Path, printed: Path) -> None:
    os.chdir(ROOT)
    sys.path.insert(0, str(SOURCE.parent))
    with printed.open("w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from hypothesis import HealthCheck, Phase, settings

    # As in `tests/conftest.py`; a counterexample need not be small.
    quick = {"derandomize": True, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("unshrunk", phases=[Phase.explicit, Phase.generate], **quick)
    os.environ["HYPOTHESIS_PROFILE"] = "unshrunk"
    result = call(*arguments)
    answer.with_suffix(".part").write_bytes(pickle.dumps(result))
    answer.with_suffix(".part").rename(answer)
    os._exit(0)  # without waiting for threads that a mutant may have left


def watch_all(room: Room, interpreted: bool, limit: float) -> Baseline:
    watch = Watch(room.modules, limit, interpreted)
    interpret(interpreted)
    threading.settrace(watch)
    sys.settrace(watch)
    run_pytest(room.tests, watch, "--continue-on-collection-errors")
    sys.settrace(None)
    return watch.baseline


def try_mutant(mutant: Mutant, tests: list[str], seconds: int) -> str:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 10))
    interpret(mutant.interpreted)
    sys.meta_path.insert(0, Mutated(mutant))
    chosen = Chosen(tests)
    code = run_pytest(list(dict.fromkeys(map(file_of, tests))), chosen, "-x")
    return chosen.failed or ("" if code == pytest.ExitCode.OK else f"pytest: {code!r}")


def interpret(kernels: bool) -> None:
    import numba

    numba.config.DISABLE_JIT = kernels
    if kernels:  # compiled ones divide by zero without a warning
        os.environ["PYTEST_ADDOPTS"] = "-W ignore::RuntimeWarning"


def run_pytest(tests: list[str], plugin: object, *options: str) -> int:
    quiet = ("-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")
    return int(pytest.main([*tests, *options, *quiet], plugins=[plugin]))


if __name__ == "__main__":
    main()
