from . import (
    around,
    datasets,
    desk,
    estimators,
    explanations,
    feedback,
    geometry,
    landscapes,
    metrics,
    model,
    partitions,
    persist,
    plot,
    promises,
    reports,
    serving,
    tables,
)
from .around import TrustedClassifier
from .common.errors import InputError, ModelFileError, SepcError, SepcWarning
from .estimators import SEPClassifier, SEPEnsembleClassifier, select_n_imp
from .landscapes import landscape
from .persist import load, save
from .promises import select_min_trust
from .reports import report
from .tables import make_table_pipeline

__all__ = [
    "InputError",
    "ModelFileError",
    "SEPClassifier",
    "SEPEnsembleClassifier",
    "SepcError",
    "SepcWarning",
    "TrustedClassifier",
    "around",
    "datasets",
    "desk",
    "estimators",
    "explanations",
    "feedback",
    "geometry",
    "landscape",
    "landscapes",
    "load",
    "make_table_pipeline",
    "metrics",
    "model",
    "partitions",
    "persist",
    "plot",
    "promises",
    "report",
    "reports",
    "save",
    "select_min_trust",
    "select_n_imp",
    "serving",
    "tables",
]

__version__: str
