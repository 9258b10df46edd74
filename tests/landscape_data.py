"""Labelled sets with planted properties, and what landscapes say of them in short."""

import numpy as np
from strategies import rotation


def codes(view):
    return {finding.code for finding in view.findings}


def alarms(view):
    return [finding for finding in view.findings if finding.severity != "note"]


def two_classes(d, n=200, apart=1.5, seed=0):
    rng = np.random.default_rng([seed, d, n])
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d)) @ (rotation(d, rng) * rng.uniform(0.5, 1.5, d)).T
    X[y == 1] += apart / np.sqrt(d)
    return X, y


def clean_set(seed):
    """Gaussian classes of random shapes, their means 1.5 to 4 standard deviations or more apart, in mixed units."""
    rng = np.random.default_rng([77, seed])
    k, d = int(rng.integers(2, 4)), int(rng.integers(2, 9))
    means = rng.standard_normal((k, d))
    means *= rng.uniform(1.5, 4.0) / min(np.linalg.norm(means[i] - means[j]) for i in range(k) for j in range(i))
    sizes = rng.integers(100, 500, size=k)
    shapes = [rotation(d, rng) * rng.uniform(0.5, 1.5, d) for _ in range(k)]
    parts = [m + rng.standard_normal((n, d)) @ F.T for m, n, F in zip(means, sizes, shapes, strict=True)]
    X = np.concatenate(parts) @ rotation(d, rng) * 10.0 ** rng.uniform(-3, 3, d) + 10.0 * rng.standard_normal(d)
    return X, np.repeat(np.arange(k), sizes)


N_IMPS = (0, 2, 5, 0.05)


def gaussians(seed, gap=(2.0, 4.0)):
    """Return two or three Gaussian classes, about `gap` standard deviations apart, in 1 to 8 dimensions."""
    rng = np.random.default_rng([7, seed])
    d, n_classes = int(rng.choice([1, 2, 3, 5, 8])), int(rng.choice([2, 2, 3]))
    sizes = rng.integers(40, 250, size=n_classes)
    centers = np.zeros((n_classes, d))
    distance = rng.uniform(*gap)
    for c in range(1, n_classes):
        centers[c, min(c - 1, d - 1)] = distance * (2 if c == 2 and d == 1 else 1)
    X = np.vstack([m + rng.standard_normal((n, d)) for m, n in zip(centers, sizes, strict=True)])
    return X, np.repeat(list("abc")[:n_classes], sizes), centers, N_IMPS[seed % 4]


def with_disjunct(seed, m=12):
    """Return such a set with a tight group of a's in the midst of b, and the rows of that group."""
    X, y, centers, n_imp = gaussians(seed, gap=(3.5, 4.5))
    rng = np.random.default_rng([8, seed])
    d = X.shape[1]
    spread = 0.2 * (m / np.count_nonzero(y == "b")) ** (1 / d)
    group = centers[1] + 0.3 / np.sqrt(d) + spread * rng.standard_normal((m, d))
    return np.vstack([X, group]), np.append(y, ["a"] * m), np.arange(len(X), len(X) + m), n_imp
