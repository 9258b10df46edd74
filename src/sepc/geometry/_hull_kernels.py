"""Compiled loops of the nearest-points solver: passes over the points, and the solver of its small problems.

The loops are deliberately plain: arrays in, arrays out, no NumPy routine that would have to be compiled too.
Points are shifted while they are read, so that no copy of them is ever made. ``x`` stands for a shifted row,
``u`` for weights, ``cap`` for their upper bound.
"""

import numpy as np
from numpy.typing import NDArray

from sepc.geometry._checks import FloatArray
from sepc.geometry._compile import kernel

IntArray = NDArray[np.int64]


@kernel
def column_stats(points: FloatArray, low: FloatArray, high: FloatArray, mean: FloatArray) -> None:
    """Fill `low`, `high` (extremes) and `mean` (of the differences from the first row), of shape (d,)."""
    n, d = points.shape
    first = points[0]
    for j in range(d):
        low[j] = high[j] = first[j]
        mean[j] = 0.0
    for i in range(n):
        row = points[i]
        for j in range(d):
            value = row[j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
            mean[j] += value - first[j]
    for j in range(d):
        mean[j] /= n


@kernel
def scores(points: FloatArray, shift: FloatArray, normal: FloatArray, out: FloatArray) -> None:
    """Fill `out` with ``x . normal`` for every row."""
    for i in range(len(out)):
        total = 0.0
        for j in range(points.shape[1]):
            total += (points[i, j] - shift[j]) * normal[j]
        out[i] = total


@kernel
def spread_weights(score: FloatArray, cap: float, tau: float, b: float, u: FloatArray) -> tuple[float, float]:
    """Fill ``u = cap * clip((score - b) / (2 tau) + 1/2, 0, 1)`` with the b that makes it sum to 1.

    Newton's method on a piecewise linear function of b, kept inside a bracket: it ends on the exact piece.

    Returns
    -------
    b : float
    value : float
        ``score . u - tau / cap * |u - cap / 2|^2``, which this u maximises: a smooth support function.
    """
    n = len(score)
    low = high = score[0]
    for i in range(n):
        low = min(low, score[i])
        high = max(high, score[i])
    low -= tau
    high += tau
    b = min(max(b, low), high)
    rate = 0.5 / tau
    wanted = 1.0 / cap
    excess = inside = 0.0
    for _ in range(100):
        mass = inside = 0.0
        for i in range(n):
            share = (score[i] - b) * rate + 0.5
            inside += 1.0 if 0.0 < share < 1.0 else 0.0
            mass += min(max(share, 0.0), 1.0)
        excess = mass - wanted
        if abs(excess) <= 1e-15 * wanted:
            break
        if excess > 0.0:
            low = b
        else:
            high = b
        following = b + excess / (rate * inside) if inside > 0.0 else high
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == b:
            break
        b = following
    value = 0.0
    # What rounding of b leaves of the excess goes to the points inside.
    correction = 0.5 - excess / max(inside, 1.0)
    for i in range(n):
        share = (score[i] - b) * rate + 0.5
        if 0.0 < share < 1.0:
            share = (score[i] - b) * rate + correction
        share = min(max(share, 0.0), 1.0)
        u[i] = cap * share
        value += score[i] * share - tau * (share - 0.5) * (share - 0.5)
    return b, cap * value


@kernel
def newton_terms(
    points: FloatArray,
    shift: FloatArray,
    u: FloatArray,
    u_before: FloatArray,
    cap: float,
    every: int,
    point: FloatArray,
    scatter: FloatArray,
) -> tuple[int, int]:
    """Move `point` from ``sum u_before x`` to ``sum u x``; fill `scatter` of the rows with 0 < u < cap.

    The scatter, the first d rows of an array of shape (d + 2, d), is about the mean of these rows and
    estimated from one in `every` of them; only its lower triangle is filled.
    Only rows that changed or are in this slab are read. Returns their number, and that of the slab.
    """
    d = points.shape[1]
    total, row = scatter[d], scatter[d + 1]
    for j in range(d + 1):
        for k in range(d):
            scatter[j, k] = 0.0
    slab = read = 0
    for i in range(len(u)):
        weight = u[i]
        change = weight - u_before[i]
        free = 0.0 < weight < cap
        if not (free or change != 0.0):
            continue
        read += 1
        for j in range(d):
            row[j] = points[i, j] - shift[j]
            point[j] += change * row[j]
        if free:
            slab += 1
            if slab % every != 0:
                continue
            for j in range(d):
                factor = row[j]
                total[j] += factor
                for k in range(j + 1):
                    scatter[j, k] += factor * row[k]
    for j in range(d):
        for k in range(j + 1):
            scatter[j, k] = every * (scatter[j, k] - total[j] * total[k] / max(slab // every, 1))
    return read, slab


@kernel
def solve_box(
    columns: FloatArray,
    ends: IntArray,
    totals: FloatArray,
    f: FloatArray,
    tol: float,
    flat: float,
    table: FloatArray,
    small: FloatArray,
) -> int:
    """Minimise ``|f + columns @ t|`` over 0 <= t <= 1 whose sum over each of two groups is given.

    Mehrotra's predictor-corrector method. The systems are d by d: the sums are eliminated first, which leaves
    the scatter of the columns about the weighted mean of their group, free of cancellation. Every inner loop
    runs along the n variables, which are many where the d features are few.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        The columns of the first group, then those of the second; ``columns @ t`` is of size 1.
    ends : ndarray of int64, shape (3,)
        Where the first group starts, where the second does, and where it ends. Either may be empty.
    totals : ndarray of shape (2,)
        Sums of t, strictly between 0 and the size of the group.
    f : ndarray of shape (d,)
    tol : float
        Relative duality gap to reach.
    flat : float
        Length of the sum that counts as 0.
    table : ndarray of shape (15 + d, n)
        On entry its first four rows hold t, 1 - t, and the multipliers of the lower and of the upper bounds,
        all positive; on return the first holds the solution, strictly inside. The rest is scratch space.
    small : ndarray of shape (d + 5, max(d, 2))
        Scratch space.

    Returns
    -------
    int
        Number of iterations.
    """
    d, n = columns.shape
    t, s, lower, upper, weight, residual = table[0], table[1], table[2], table[3], table[4], table[5]
    step, first, second, d_lower, d_upper = table[6], table[7], table[8], table[9], table[14]
    # Divisions are what the loops would spend most of their time on.
    per_t, per_s, per_lower, per_upper = table[10], table[11], table[12], table[13]
    move, mean, lack, mass, lift = small[d], small[d + 1], small[d + 2], small[d + 3], small[d + 4]
    best = last_gap = np.inf
    stalled = closed = careful = 0
    length = 1.0
    for iteration in range(80):
        square = gap = error = 0.0
        for i in range(n):
            residual[i] = upper[i] - lower[i]
        for j in range(d):
            total = f[j]
            for i in range(n):
                total += t[i] * columns[j, i]
            for i in range(n):
                residual[i] += total * columns[j, i]
            square += total * total
        for g in range(2):
            # Free variables would get weights without bound, and drown the unit matrix they are added to.
            slightest = 1e-13 / (1.0 + totals[g]) ** 2
            mass[g] = 1e-300
            lack[g] = totals[g]
            threshold = 0.0
            for i in range(ends[g], ends[g + 1]):
                here, room, low, up = t[i], s[i], lower[i], upper[i]
                gap += low * here + up * room
                lack[g] -= here
                here, room = 1.0 / here, 1.0 / room
                factor = 1.0 / (low * here + up * room + slightest)
                mass[g] += factor
                threshold += factor * residual[i]
                weight[i], per_t[i], per_s[i], per_lower[i], per_upper[i] = (
                    factor,
                    here,
                    room,
                    1.0 / low,
                    1.0 / up,
                )
                first[i] = second[i] = 0.0
            # The multiplier of the group's sum is free and enters linearly: take the best for the residual.
            threshold /= mass[g]
            for i in range(ends[g], ends[g + 1]):
                total = residual[i] - threshold
                residual[i] = total
                error += abs(total) * min(t[i], s[i])
        enough = max(tol * square, 1e-15 * square**0.5)
        stalled = 0 if gap < 0.9 * best else stalled + 1
        best = min(best, gap)
        closed += 1 if gap <= enough else 0
        # Once the gap is closed the residual may need some more rounds, but soon it is rounding.
        done = gap <= enough and (error <= enough or closed == 5)
        if done or square <= flat * flat or stalled == 10:
            return iteration
        # Second-order terms that do harm: go without for a while, and bring the products back into balance.
        careful = 4 if length < 0.2 or gap > last_gap else careful - 1
        trust, least = (0.0, 0.1) if careful > 0 else (1.0, 0.0)
        last_gap = gap
        for j in range(d):
            mean[j] = 0.0
            for g in range(2):
                total = 0.0
                for i in range(ends[g], ends[g + 1]):
                    total += weight[i] * columns[j, i]
                total /= mass[g]
                mean[j] += lack[g] * total
                for i in range(ends[g], ends[g + 1]):
                    table[15 + j, i] = columns[j, i] - total
            for i in range(n):
                step[i] = weight[i] * table[15 + j, i]
            for k in range(j + 1):
                total = 1.0 if j == k else 0.0
                for i in range(n):
                    total += step[i] * table[15 + k, i]
                for i in range(k):
                    total -= small[j, i] * small[k, i]
                # In exact arithmetic no pivot of the unit matrix plus a scatter is below 1.
                small[j, k] = max(total, 1.0) ** 0.5 if j == k else total / small[k, k]
        target = fall = 0.0
        for _ in range(2):  # the predictor, then the corrector with the predictor's products
            for g in range(2):
                lift[g] = lack[g]
                for i in range(ends[g], ends[g + 1]):
                    total = (target - first[i]) * per_t[i] - (target - second[i]) * per_s[i]
                    total += upper[i] - lower[i] - residual[i]
                    lift[g] -= weight[i] * total
                    step[i] = total
                # With the group's mean taken out, centred columns may stand in for the columns.
                lift[g] /= mass[g]
                for i in range(ends[g], ends[g + 1]):
                    step[i] = weight[i] * (step[i] + lift[g])
            for j in range(d):
                total = mean[j]
                for i in range(n):
                    total += step[i] * table[15 + j, i]
                for k in range(j):
                    total -= small[j, k] * move[k]
                move[j] = total / small[j, j]
            for j in range(d - 1, -1, -1):
                move[j] /= small[j, j]
                for k in range(j):
                    move[k] -= small[j, k] * move[j]
                for i in range(n):
                    step[i] -= move[j] * weight[i] * table[15 + j, i]
            fall = 1e-300
            quadratic = 0.0
            for i in range(n):
                move_i, here, room, low, up = step[i], per_t[i], per_s[i], lower[i], upper[i]
                down = (target - first[i] - low * move_i) * here - low
                rise = (target - second[i] + up * move_i) * room - up
                fall = max(
                    fall,
                    max(max(-move_i * here, move_i * room), max(-down * per_lower[i], -rise * per_upper[i])),
                )
                first[i], second[i] = trust * move_i * down, -trust * move_i * rise
                quadratic += move_i * (down - rise)
                d_lower[i], d_upper[i] = down, rise
            length = min(1.0, 1.0 / fall)
            ratio = max(1.0 - length + length * length * quadratic / gap, 0.0)
            target = max(ratio**3, least) * gap / (2.0 * n)
        length = min(1.0, 0.995 / fall)
        for i in range(n):
            t[i] = max(t[i] + length * step[i], 1e-30)
            s[i] = max(s[i] - length * step[i], 1e-30)
            lower[i] = max(lower[i] + length * d_lower[i], 1e-150)
            upper[i] = max(upper[i] + length * d_upper[i], 1e-150)
    return 80
