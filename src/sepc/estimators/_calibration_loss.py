"""The loss by which a calibration is learnt, compiled: a fit asks for it a few hundred times."""

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
    log_temperature: float,
    unexplained: float,
    correction: FloatArray,
    by_correction: FloatArray,
) -> tuple[float, float, float]:
    """Return the sum of the log losses of true labels, and its slopes.

    Parameters
    ----------
    against : ndarray of shape (n, n_classes)
        Logarithms of the odds of each class against the true one.
    codes : ndarray of int, shape (n,)
        The true ones.
    prior : ndarray of shape (n,)
        Their probabilities in the background.
    far : ndarray of shape (n,)
        Share of the background's density.
    known : ndarray of shape (n,)
        Shares of the features that are there.
    log_temperature, unexplained : float
    correction : ndarray of shape (n_classes,)
    by_correction : ndarray of shape (n_classes,)
        Set to the slopes by the corrections.

    Returns
    -------
    loss : float
    by_log_temperature, by_unexplained : float
        Its slopes.
    """
    n, n_classes = against.shape
    loss, by_log_temperature, by_unexplained = 0.0, 0.0, 0.0
    odds = np.empty(n_classes)
    by_correction[:] = 0.0
    for i in range(n):
        colder, code = np.exp(-log_temperature * known[i]), codes[i]
        top = 0.0
        for k in range(n_classes):
            odds[k] = against[i, k] * colder + known[i] * (correction[k] - correction[code])
            top = max(top, odds[k])
        total, mean = 0.0, 0.0
        for k in range(n_classes):
            odds[k] = np.exp(odds[k] - top)
            total += odds[k]
            mean += odds[k] * against[i, k]
        own = np.exp(-top) / total
        background = unexplained + (1.0 - unexplained) * far[i]
        p = (1.0 - background) * own + background * prior[i]
        loss -= np.log(p)
        of_regions = (1.0 - background) * own * known[i] / p
        by_log_temperature -= of_regions * colder * mean / total
        by_unexplained -= (1.0 - far[i]) * (prior[i] - own) / p
        for k in range(n_classes):
            by_correction[k] += of_regions * odds[k] / total
        by_correction[code] -= of_regions
    return loss, by_log_temperature, by_unexplained
