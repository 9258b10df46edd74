"""Ellipses of a report are projections of the ellipsoids."""

import numpy as np


def test_shadows_are_those_of_the_ellipsoids(wdbc_clf, wdbc_report):
    view = wdbc_report.to_dict()["picture"]["views"][0]
    some = [list(wdbc_clf.feature_names_in_).index(axis["title"]) for axis in view["axes"]]
    ellipses = {e["region"]: e for e in view["ellipses"]}
    for name, block in zip(wdbc_clf.regions()["region"], wdbc_clf.partitions_[0].blocks, strict=True):
        shadow = block.ellipsoid.shadow(some)
        scale = wdbc_clf.scale_[some]
        spread = np.outer(scale, scale) * ((shadow.axes * np.square(shadow.radii)) @ shadow.axes.T)
        factor = np.array(ellipses[name]["factor"])
        np.testing.assert_allclose(factor @ factor.T, spread, rtol=1e-4)
        np.testing.assert_allclose(ellipses[name]["center"], shadow.center * scale + wdbc_clf.mean_[some], rtol=1e-4)
