"""
Trust around a network, by its embedding
========================================

A network of PyTorch reads digits. When should you not believe it? :class:`~sepc.TrustedClassifier` asks it for its
probabilities, and makes regions of its last hidden layer: what the network sees. Images unlike those of training are
refused, however sure the network is. The page needs PyTorch (``pip install torch``); without it nothing is shown.
"""

# %%
# A small network
# ---------------
# It is trained on a third of the digits that ship with scikit-learn. A class around it has what any classifier of
# scikit-learn has, and a function that returns the last hidden layer.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

import sepc
from sepc.metrics import expected_calibration_error

try:
    import torch
except ImportError:
    torch = None
    print("PyTorch is not installed: this page is left out.")


class Network(ClassifierMixin, BaseEstimator):
    """A network with one hidden layer of 128 units, as a classifier of images of shape (n, 8, 8)."""

    def fit(self, images, y):
        """Train the network."""
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.classes_ = np.unique(y)
        self.hidden_ = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 128), torch.nn.ReLU())
        self.out_ = torch.nn.Linear(128, len(self.classes_))
        optimiser = torch.optim.Adam([*self.hidden_.parameters(), *self.out_.parameters()], lr=0.01)
        target = torch.as_tensor(np.searchsorted(self.classes_, y))
        for _ in range(100):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(self.out_(self.hidden_(as_tensor(images))), target).backward()
            optimiser.step()
        return self

    def embedding(self, images):
        """Return the last hidden layer, shape (n, 128)."""
        with torch.no_grad():
            return self.hidden_(as_tensor(images)).numpy()

    def predict_proba(self, images):
        """Return the probability of each digit, shape (n, 10)."""
        with torch.no_grad():
            return torch.softmax(self.out_(self.hidden_(as_tensor(images))).double(), dim=1).numpy()

    def predict(self, images):
        """Return the likeliest digit, shape (n,)."""
        return self.classes_[self.predict_proba(images).argmax(axis=1)]


def as_tensor(images):
    """Return images with values from 0 to 1 as a tensor."""
    return torch.as_tensor(np.asarray(images, dtype=np.float32) / 16.0)


images, digits = load_digits().images, load_digits().target
train, rest, y_train, y_rest = train_test_split(images, digits, train_size=600, random_state=0, stratify=digits)
held_out, new, y_held_out, y_new = train_test_split(rest, y_rest, train_size=600, random_state=0, stratify=y_rest)

# %%
# Around the network as it is
# ---------------------------
# ``FrozenEstimator`` says that the network is trained already. Then the records of ``fit`` must be some that it has not
# learnt from. The 128 columns of the layer are reduced to 32 principal components.

if torch is not None:
    network = Network().fit(train, y_train)
    clf = sepc.TrustedClassifier(FrozenEstimator(network), encoder=network.embedding).fit(held_out, y_held_out)
    a, sure = clf.assess(new), network.predict_proba(new).max(axis=1)
    right = a.label == y_new
    print(f"right on {right.mean():.1%} of new images")
    print(f"calibration error: network {expected_calibration_error(right, sure):.3f}, ", end="")
    print(f"trust {expected_calibration_error(right, a.trust):.3f}")

# %%
# Images that are no digits of this kind
# --------------------------------------
# Which share is accepted with a trust of 0.95, and which share the network itself is that sure of?

if torch is not None:
    rng = np.random.default_rng(0)
    versions = {
        "digits": new,
        "upside down": new[:, ::-1],
        "white on black": 16.0 - new,
        "noise": rng.uniform(0.0, 16.0, new.shape),
    }
    rows = {
        name: {
            "accepted": clf.assess(some).accepted(0.95).mean(),
            "network above 0.95": (network.predict_proba(some).max(axis=1) >= 0.95).mean(),
        }
        for name, some in versions.items()
    }
    print(pd.DataFrame(rows).T.round(2).to_string())

# %%
# The digits that are least to be trusted
# ---------------------------------------

if torch is not None:
    figure, axes = plt.subplots(2, 6, figsize=(7.2, 3.2), layout="constrained")
    for ax, row in zip(axes.flat, np.argsort(a.trust), strict=False):
        ax.imshow(new[row], cmap="gray_r")
        ax.set_title(f"{a.label[row]}, trust {a.trust[row]:.2f}\nis {y_new[row]}; {a.reason[row]}", fontsize=7)
        ax.set_axis_off()
    plt.show()

# %%
# Upside down some digits look like others, and pass: regions of an embedding see what the network sees, no more.
