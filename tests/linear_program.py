"""Linear separability, decided by a linear program."""

import numpy as np
from scipy.optimize import linprog


def separable_by_a_linear_program(A, B):
    """Whether some w and c have w @ a - c >= 1 and w @ b - c <= -1."""
    rows = np.vstack([np.column_stack([-A, np.ones(len(A))]), np.column_stack([B, -np.ones(len(B))])])
    return linprog(np.zeros(rows.shape[1]), rows, -np.ones(len(rows)), bounds=(None, None)).status == 0
