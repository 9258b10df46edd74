"""Classification with trust by sequential ellipsoidal partitioning.

Public names are resolved on first use, so that ``import sepc`` loads nothing heavy.

Examples
--------
>>> import sepc
>>> m = sepc.min_volume_ellipsoid([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
>>> m.ellipsoid.center.round(6).tolist()
[1.0, 1.0]
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sepc.assessment import Assessment
    from sepc.ensemble import SEPEnsembleClassifier
    from sepc.errors import InputError, ModelFileError, SepcError, SepcWarning
    from sepc.estimator import SEPClassifier
    from sepc.explain import Explanation
    from sepc.feedback import Drift, FeedbackMonitor, FeedbackReport, PartitionChanges
    from sepc.findings import Finding
    from sepc.geometry.coefficient import overlap_coefficient
    from sepc.geometry.ellipsoid import Ellipsoid
    from sepc.geometry.hulls import HullPair, nearest_points
    from sepc.geometry.mve import MVE, min_volume_ellipsoid
    from sepc.geometry.overlap import IntersectionCover, cover_intersection
    from sepc.geometry.separation import Separation, separate
    from sepc.guarantees import TrustThreshold, select_min_trust
    from sepc.label_sets import PredictionSets
    from sepc.landscapes import Landscape, landscape
    from sepc.partitioning import Block, Hyperplane, Partition, partition
    from sepc.persist import load, rules_dict, save
    from sepc.plot import (
        ConfusionDisplay,
        LandscapeDisplay,
        PartitionDisplay,
        RegionTrustDisplay,
        ReliabilityDisplay,
        RiskCoverageDisplay,
    )
    from sepc.reports import Report, report
    from sepc.selection import NImpPath, select_n_imp
    from sepc.tables import TableEncoder, TablePipeline, make_table_pipeline
    from sepc.terrain import Terrain

__version__ = "0.1.0"

_HOME = {
    "Assessment": "assessment",
    "Block": "partitioning",
    "ConfusionDisplay": "plot",
    "Drift": "feedback",
    "Ellipsoid": "geometry.ellipsoid",
    "Explanation": "explain",
    "FeedbackMonitor": "feedback",
    "FeedbackReport": "feedback",
    "Finding": "findings",
    "HullPair": "geometry.hulls",
    "Hyperplane": "partitioning",
    "InputError": "errors",
    "IntersectionCover": "geometry.overlap",
    "Landscape": "landscapes",
    "LandscapeDisplay": "plot",
    "MVE": "geometry.mve",
    "ModelFileError": "errors",
    "NImpPath": "selection",
    "Partition": "partitioning",
    "PartitionChanges": "feedback",
    "PartitionDisplay": "plot",
    "PredictionSets": "label_sets",
    "RegionTrustDisplay": "plot",
    "ReliabilityDisplay": "plot",
    "RiskCoverageDisplay": "plot",
    "Report": "reports",
    "SEPClassifier": "estimator",
    "SEPEnsembleClassifier": "ensemble",
    "Separation": "geometry.separation",
    "SepcError": "errors",
    "SepcWarning": "errors",
    "TableEncoder": "tables",
    "TablePipeline": "tables",
    "Terrain": "terrain",
    "TrustThreshold": "guarantees",
    "cover_intersection": "geometry.overlap",
    "landscape": "landscapes",
    "load": "persist",
    "make_table_pipeline": "tables",
    "min_volume_ellipsoid": "geometry.mve",
    "nearest_points": "geometry.hulls",
    "overlap_coefficient": "geometry.coefficient",
    "partition": "partitioning",
    "rules_dict": "persist",
    "save": "persist",
    "report": "reports",
    "select_min_trust": "guarantees",
    "select_n_imp": "selection",
    "separate": "geometry.separation",
}

__all__ = [
    "MVE",
    "Assessment",
    "Block",
    "ConfusionDisplay",
    "Drift",
    "Ellipsoid",
    "Explanation",
    "FeedbackMonitor",
    "FeedbackReport",
    "Finding",
    "HullPair",
    "Hyperplane",
    "InputError",
    "IntersectionCover",
    "Landscape",
    "LandscapeDisplay",
    "ModelFileError",
    "NImpPath",
    "Partition",
    "PartitionChanges",
    "PartitionDisplay",
    "PredictionSets",
    "RegionTrustDisplay",
    "ReliabilityDisplay",
    "Report",
    "RiskCoverageDisplay",
    "SEPClassifier",
    "SEPEnsembleClassifier",
    "Separation",
    "SepcError",
    "SepcWarning",
    "TableEncoder",
    "TablePipeline",
    "Terrain",
    "TrustThreshold",
    "cover_intersection",
    "landscape",
    "load",
    "make_table_pipeline",
    "min_volume_ellipsoid",
    "nearest_points",
    "overlap_coefficient",
    "partition",
    "report",
    "rules_dict",
    "save",
    "select_min_trust",
    "select_n_imp",
    "separate",
]


def __getattr__(name: str) -> object:
    if name in ("datasets", "metrics"):
        return import_module(f"sepc.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'sepc' has no attribute {name!r}")
    value = getattr(import_module(f"sepc.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
