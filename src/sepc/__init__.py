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
    from sepc.common.errors import InputError, ModelFileError, SepcError, SepcWarning
    from sepc.estimators.classifier import SEPClassifier
    from sepc.estimators.ensemble.ensemble_classifier import SEPEnsembleClassifier
    from sepc.estimators.label_sets import PredictionSets
    from sepc.estimators.n_imp_selection import NImpPath, select_n_imp
    from sepc.explanations.explanation import Explanation
    from sepc.feedback import (
        Audit,
        Drift,
        DriftPart,
        FeedbackMonitor,
        FeedbackReport,
        Forgetting,
        PartitionChanges,
        PromiseDrift,
    )
    from sepc.geometry.coefficient import overlap_coefficient
    from sepc.geometry.ellipsoid import Ellipsoid
    from sepc.geometry.hulls import HullPair, nearest_points
    from sepc.geometry.intersection import IntersectionCover, cover_intersection
    from sepc.geometry.mve import MVE, min_volume_ellipsoid
    from sepc.geometry.separation import Separation, separate
    from sepc.landscapes.data_landscape import DataLandscape, Landscape, landscape
    from sepc.landscapes.findings import Finding
    from sepc.landscapes.fitted_landscape import FittedLandscape, Terrain
    from sepc.model.assessment import Assessment
    from sepc.partitions.algorithm import partition
    from sepc.partitions.blocks import Block, Hyperplane, Partition
    from sepc.persist import load, rules_dict, save
    from sepc.plot import (
        ConfusionDisplay,
        LandscapeDisplay,
        PartitionDisplay,
        RegionTrustDisplay,
        ReliabilityDisplay,
        RiskCoverageDisplay,
    )
    from sepc.promises import (
        PartPromises,
        PromisePreview,
        TrustThreshold,
        preview_promise,
        select_min_trust,
    )
    from sepc.reports import Report, report
    from sepc.tables import TableEncoder, TablePipeline, make_table_pipeline

__version__ = "0.1.0"

_HOME = {
    "Assessment": "model.assessment",
    "Audit": "feedback",
    "Block": "partitions.blocks",
    "ConfusionDisplay": "plot",
    "Drift": "feedback",
    "DriftPart": "feedback",
    "Ellipsoid": "geometry.ellipsoid",
    "Explanation": "explanations.explanation",
    "FeedbackMonitor": "feedback",
    "FeedbackReport": "feedback",
    "Finding": "landscapes.findings",
    "Forgetting": "feedback",
    "HullPair": "geometry.hulls",
    "Hyperplane": "partitions.blocks",
    "InputError": "common.errors",
    "IntersectionCover": "geometry.intersection",
    "DataLandscape": "landscapes.data_landscape",
    "FittedLandscape": "landscapes.fitted_landscape",
    "Landscape": "landscapes.data_landscape",
    "LandscapeDisplay": "plot",
    "MVE": "geometry.mve",
    "ModelFileError": "common.errors",
    "NImpPath": "estimators.n_imp_selection",
    "PartPromises": "promises",
    "Partition": "partitions.blocks",
    "PartitionChanges": "feedback",
    "PartitionDisplay": "plot",
    "PredictionSets": "estimators.label_sets",
    "PromiseDrift": "feedback",
    "PromisePreview": "promises",
    "RegionTrustDisplay": "plot",
    "ReliabilityDisplay": "plot",
    "RiskCoverageDisplay": "plot",
    "Report": "reports",
    "SEPClassifier": "estimators.classifier",
    "SEPEnsembleClassifier": "estimators.ensemble.ensemble_classifier",
    "Separation": "geometry.separation",
    "SepcError": "common.errors",
    "SepcWarning": "common.errors",
    "TableEncoder": "tables",
    "TablePipeline": "tables",
    "Terrain": "landscapes.fitted_landscape",
    "TrustThreshold": "promises",
    "cover_intersection": "geometry.intersection",
    "landscape": "landscapes.data_landscape",
    "load": "persist",
    "make_table_pipeline": "tables",
    "min_volume_ellipsoid": "geometry.mve",
    "nearest_points": "geometry.hulls",
    "overlap_coefficient": "geometry.coefficient",
    "partition": "partitions.algorithm",
    "preview_promise": "promises",
    "rules_dict": "persist",
    "save": "persist",
    "report": "reports",
    "select_min_trust": "promises",
    "select_n_imp": "estimators.n_imp_selection",
    "separate": "geometry.separation",
}

__all__ = [
    "MVE",
    "Assessment",
    "Audit",
    "Block",
    "ConfusionDisplay",
    "DataLandscape",
    "Drift",
    "DriftPart",
    "Ellipsoid",
    "Explanation",
    "FeedbackMonitor",
    "FeedbackReport",
    "Finding",
    "FittedLandscape",
    "Forgetting",
    "HullPair",
    "Hyperplane",
    "InputError",
    "IntersectionCover",
    "Landscape",
    "LandscapeDisplay",
    "ModelFileError",
    "NImpPath",
    "PartPromises",
    "Partition",
    "PartitionChanges",
    "PartitionDisplay",
    "PredictionSets",
    "PromiseDrift",
    "PromisePreview",
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
    "preview_promise",
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
