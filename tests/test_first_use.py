"""What a new process loads, compiles and keeps; each test starts processes of its own."""

import os
import pickle
import subprocess
import sys
import textwrap

import pytest
from sklearn.datasets import load_iris

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier

pytestmark = pytest.mark.first_use

SOLVE_ALL = """
    import numpy as np
    import sepc
    from sepc.geometry._hulls import slabs, small_hulls
    from sepc.geometry import _kernels
    from sepc.geometry._mve import small_interior_point
    from numba.core.dispatcher import Dispatcher

    rng = np.random.default_rng(0)
    for points in (rng.normal(size=(50, 2)), rng.normal(size=(3000, 3)), np.outer(rng.normal(size=20), [1, 2])):
        assert sepc.geometry.min_volume_ellipsoid(points).converged
    A, B = rng.normal(size=(400, 2)), rng.normal(size=(300, 2)) + 1
    for cap in (None, 0.01, 1.0):
        assert sepc.geometry.nearest_points(A, B, cap).gap < 1e-6
    modules = small_interior_point, slabs, small_hulls, _kernels
    kernels = {k for module in modules for k in vars(module).values() if isinstance(k, Dispatcher)}
"""


def run(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_package_loads_nothing_heavy():
    heavy = run("import sys, sepc; print(sorted({'numpy', 'scipy', 'numba', 'sklearn'} & set(sys.modules)))")
    assert heavy.strip() == "[]"


def test_every_public_name_resolves():
    run("import sepc; [getattr(sepc, name) for name in sepc.__all__]; assert set(sepc.__all__) <= set(dir(sepc))")


def test_reading_an_ellipsoid_never_loads_the_compiler():
    run(
        """
        import sys
        import numpy as np
        import sepc

        E = sepc.geometry.Ellipsoid([0.0, 0.0], np.eye(2), [2.0, 1.0])
        Z = np.ones((5, 2))
        E.gauge(Z), E.contains(Z), E.distance(Z), E.project(Z), E.grown_to(Z[0]), E.sample(3, 0), E.boundary()
        F = sepc.geometry.Ellipsoid([1.0, 0.0], np.eye(2), [2.0, 1.0])
        sepc.geometry.separate(E, F)
        assert "numba" not in sys.modules
        """
    )


def test_a_process_that_only_predicts_never_loads_the_compiler(tmp_path):
    X, y = load_iris(return_X_y=True)
    models = {
        "local": SEPClassifier().fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2]),
        "counts": SEPClassifier(trust="counts").fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2]),
        "ensemble": SEPEnsembleClassifier(n_estimators=2).fit(X, y),
    }
    for name, clf in models.items():
        (tmp_path / name).write_bytes(pickle.dumps(clf))
    run(
        f"""
        import pickle, sys
        from pathlib import Path
        import sepc

        for name in {list(models)}:
            clf = pickle.loads((Path({str(tmp_path)!r}) / name).read_bytes())
            X = clf.model_.original(clf.model_.records.points)
            a = clf.assess(X)
            clf.predict(X), clf.predict_proba(X), a.region, a.local_overlap, a.to_frame(), clf.trust_score(X)
            clf.predict_or_abstain(X), clf.explain(X[0]).text, clf.regions()
            sepc.select_min_trust(clf, X, clf.predict(X)), clf.calibrate(X, clf.predict(X)).predict_set(X).labels()
            if name != "ensemble":
                clf.sample(3), clf.query(X, 2)
            assert "numba" not in sys.modules, name
        """
    )


def test_a_process_that_only_loads_and_predicts_never_loads_the_compiler(tmp_path):
    X, y = load_iris(return_X_y=True)
    for clf in (SEPClassifier().fit(X, y), SEPEnsembleClassifier(n_estimators=1).fit(X, y)):
        for training_rows in (True, False):
            sepc.save(clf, tmp_path / f"{type(clf).__name__}-{training_rows}.sepc", training_rows=training_rows)
    run(
        f"""
        import sys
        from pathlib import Path
        import numpy as np
        import sepc

        X, n_models = np.array({X[:40].tolist()}), 0
        for path in Path({str(tmp_path)!r}).glob("*.sepc"):
            clf = sepc.load(path)
            clf.predict(X), clf.predict_proba(X), clf.trust_score(X), clf.assess(X).region, clf.explain(X[0]).text
            sepc.persist.rules_dict(clf)
            assert "numba" not in sys.modules, path
            n_models += 1
        assert n_models == 4
        """
    )


def test_compiled_code_is_kept_for_later_processes_which_find_the_same(tmp_path):
    code = (
        SOLVE_ALL
        + """
    import hashlib

    seen = hashlib.sha256()
    for d in (1, 2, 3, 4, 8):
        for n in (12, 30, 80, 400):
            A, B = rng.normal(size=(n, d)), rng.normal(size=(n, d)) + 1
            E, pair = sepc.geometry.min_volume_ellipsoid(A).ellipsoid, sepc.geometry.nearest_points(A, B)
            for array in (E.center, E.axes, E.radii, pair.normal):
                seen.update(array.tobytes())
    print(sum(sum(k.stats.cache_misses.values()) for k in kernels), seen.hexdigest())
    """
    )
    (first_misses, first), (second_misses, second) = (
        run(code, NUMBA_CACHE_DIR=str(tmp_path)).split() for _ in range(2)
    )
    assert int(first_misses) > 0
    assert int(second_misses) == 0
    assert first == second


def test_one_signature_per_kernel():
    """Read-only, writable and converted input must not compile the kernels again; nor must a fit."""
    code = (
        SOLVE_ALL
        + """
    X = rng.normal(size=(300, 3))
    X.flags.writeable = False
    for points in (X, X.astype("f4"), X.T[:, ::2]):
        sepc.geometry.min_volume_ellipsoid(points)
    sepc.geometry.nearest_points(X, X + 1), sepc.geometry.nearest_points(X.astype("f4"), X[::-1][:100] + 1)
    sepc.SEPClassifier().fit(X[:60], X[:60, 0] > rng.normal(size=60))
    print([k.__name__ for k in kernels if len(k.signatures) > 1])
    """
    )
    assert run(code).strip() == "[]"


def test_works_where_no_cache_can_be_written_and_kernels_stay_within_their_arrays():
    """With every index checked, since all is compiled anyway; without the check a bad index would corrupt memory.

    Without optimisation, which has no say in what is indexed.
    """
    refuse = """
    from numba.core import caching

    for cache in (caching.CompileResultCacheImpl, caching.CodeLibraryCacheImpl):
        cache._locator_classes = []
    """
    told = "    print(all(type(k._cache).__name__ == 'NullCache' for k in kernels))\n"
    assert run(refuse + SOLVE_ALL + told, NUMBA_BOUNDSCHECK="1", NUMBA_OPT="0").strip() == "True"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory that Linux reports")
@pytest.mark.parametrize(
    "solve", ["sepc.geometry.min_volume_ellipsoid(X)", "sepc.geometry.nearest_points(X[:60_000], X[60_000:])"]
)
def test_memory_stays_within_two_copies_of_the_points(solve):
    out = run(
        f"""
        from pathlib import Path
        import numpy as np
        import sepc

        def resident(field):
            return 1024 * int(Path("/proc/self/status").read_text().split(field + ":")[1].split()[0])

        small = np.random.default_rng(0).normal(size=(3000, 20))
        sepc.geometry.min_volume_ellipsoid(small)
        sepc.geometry.nearest_points(small[:2000], small[2000:] + 0.5)
        X = np.random.default_rng(2).normal(size=(100_000, 20))
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
        {solve}
        print((resident("VmHWM") - before) / X.nbytes)
        """
    )
    assert 0.0 < float(out) <= 2.0
