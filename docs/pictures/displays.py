"""Draw one picture of each display: ``python docs/pictures/displays.py`` (needs the extra ``plot``)."""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.plot import (
    ConfusionDisplay,
    LandscapeDisplay,
    PartitionDisplay,
    RegionTrustDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
)


def main() -> None:
    """Write displays.png beside this file."""
    moons = make_moons(400, noise=0.17, random_state=4)
    on_moons = SEPClassifier(n_imp=4).fit(*moons)
    cancer = load_breast_cancer(as_frame=True)
    X, X_test, y, y_test = train_test_split(
        cancer.data, cancer.target_names[cancer.target], test_size=0.4, random_state=0, stratify=cancer.target
    )
    models = {
        "SEPEnsembleClassifier": SEPEnsembleClassifier().fit(X, y),
        "SEPClassifier": SEPClassifier().fit(X, y),
        "random forest": RandomForestClassifier(300, random_state=0).fit(X, y),
    }
    figure, panels = plt.subplots(2, 3, figsize=(11.0, 6.6), layout="constrained")
    draw = {
        "PartitionDisplay": lambda ax: PartitionDisplay.from_estimator(on_moons, shade=True, ax=ax),
        "RegionTrustDisplay": lambda ax: RegionTrustDisplay.from_estimator(on_moons, ax=ax),
        "LandscapeDisplay": lambda ax: LandscapeDisplay.from_estimator(on_moons, ax=ax),
        "RiskCoverageDisplay": lambda ax: RiskCoverageDisplay.from_estimators(models, X_test, y_test, ax=ax),
        "ReliabilityDisplay": lambda ax: ReliabilityDisplay.from_estimator(
            models["SEPEnsembleClassifier"], X_test, y_test, n_bins=8, ax=ax
        ),
        "ConfusionDisplay": lambda ax: ConfusionDisplay.from_estimator(
            models["SEPEnsembleClassifier"], X_test, y_test, ax=ax
        ),
    }
    for ax, (name, display) in zip(panels.flat, draw.items(), strict=True):
        display(ax)
        ax.set_title(name, fontsize="medium")
    figure.savefig(Path(__file__).with_name("displays.png"), dpi=130)


if __name__ == "__main__":
    main()
