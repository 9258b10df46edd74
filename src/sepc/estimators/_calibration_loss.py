"""The loss that a calibration minimises, compiled: a fit evaluates it some hundred times."""

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.compilation import kernel


@kernel
def log_loss(
    against: FloatArray,
    codes: IntArray,
    prior: FloatArray,
    far: FloatArray,
    known: FloatArray,
    linear: FloatArray,
    log_temperature: float,
    unexplained: float,
    correction: FloatArray,
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Return the sum of the log losses of true labels, its gradient, its Hessian, and its slopes by the log odds.

    A label's probability is ``p = (1 - b) q + b prior``, where ``b = unexplained + (1 - unexplained) far`` is the share
    of the background component, and ``q`` the softmax of
    ``against exp(-known log_temperature) + known correction + linear``. The parameters are log temperature,
    unexplained, and the correction of each class, in this order; the slopes, shape (n, n_classes), are those by
    `linear`.

    Parameters
    ----------
    against : ndarray of shape (n, n_classes)
        Log odds of each class against the true one.
    codes, prior, far, known : ndarray of shape (n,)
        The true classes, their probabilities in the background component, its share of the density, and the share of
        known features.
    linear : ndarray of shape (n, n_classes)
    """
    n, n_classes = against.shape
    loss = 0.0
    gradient, hessian = np.zeros(2 + n_classes), np.zeros((2 + n_classes, 2 + n_classes))
    q, slope, by_odds = np.empty(n_classes), np.empty(2 + n_classes), np.empty((n, n_classes))
    for i in range(n):
        colder, code = np.exp(-log_temperature * known[i]), codes[i]
        top = 0.0
        for k in range(n_classes):
            q[k] = against[i, k] * colder + known[i] * (correction[k] - correction[code])
            q[k] += linear[i, k] - linear[i, code]
            top = max(top, q[k])
        total = 0.0
        for k in range(n_classes):
            q[k] = np.exp(q[k] - top)
            total += q[k]
        mean, square = 0.0, 0.0
        for k in range(n_classes):
            q[k] /= total
            odds = against[i, k] * colder
            mean += q[k] * odds
            square += q[k] * odds * odds
        own = np.exp(-top) / total
        background = unexplained + (1.0 - unexplained) * far[i]
        p = (1.0 - background) * own + background * prior[i]
        of_regions = (1.0 - background) * own / p
        by_background = (1.0 - far[i]) * (prior[i] - own) / p
        loss -= np.log(p)
        # Slopes of log(own), then of log(p), of which those of log(own) are a part.
        slope[0], slope[1] = known[i] * mean, 0.0
        for k in range(n_classes):
            slope[2 + k] = -known[i] * q[k]
            by_odds[i, k] = of_regions * q[k]
        slope[2 + code] += known[i]
        by_odds[i, code] -= of_regions
        spread, mixed = of_regions * (1.0 - of_regions), of_regions * known[i] * known[i]
        across = (1.0 - far[i]) * own / p + by_background * of_regions
        for j in range(2 + n_classes):
            gradient[j] -= of_regions * slope[j]
            hessian[1, j] += across * slope[j]
            for k in range(2 + n_classes):
                hessian[j, k] -= spread * slope[j] * slope[k]
        gradient[1] -= by_background
        hessian[1, 1] += by_background * by_background
        hessian[0, 0] += mixed * (mean + square - mean * mean)
        for j in range(n_classes):
            hessian[0, 2 + j] -= mixed * q[j] * (against[i, j] * colder - mean)
            hessian[2 + j, 2 + j] += mixed * q[j]
            for k in range(n_classes):
                hessian[2 + j, 2 + k] -= mixed * q[j] * q[k]
    hessian[0, 1] = hessian[1, 0]
    for j in range(n_classes):
        hessian[2 + j, 0], hessian[2 + j, 1] = hessian[0, 2 + j], hessian[1, 2 + j]
    return loss, gradient, hessian, by_odds
