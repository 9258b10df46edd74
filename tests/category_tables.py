"""Planted tables of numbers and categories, as features 0 and 1 of each value."""

import numpy as np


def of_groups(n=400, seed=0):
    """Return features and labels of records from six hidden groups, which each have their own usual values.

    Within a group the columns are independent, so that the shares of the values tell all there is.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(6, size=n)
    columns = [rng.normal(size=(n, 2)) + 1.5 * np.column_stack([group, -group]) / 6]
    for n_values in (3, 4, 2, 5):
        usual = rng.dirichlet(np.full(n_values, 0.5), size=6)
        value = np.array([rng.choice(n_values, p=usual[g]) for g in group])
        columns.append(np.eye(n_values)[value] if n_values > 2 else value[:, None].astype(float))
    return np.column_stack(columns), np.where(rng.random(n) < 0.05, 1 - group % 2, group % 2)


def of_pairs(n=400, seed=0):
    """Return features and labels where only two columns together tell the label: whether their values are the same."""
    rng = np.random.default_rng(seed)
    one, two, other = rng.integers(3, size=(3, n))
    return np.column_stack([np.eye(3)[one], np.eye(3)[two], np.eye(3)[other]]), (one == two).astype(int)
