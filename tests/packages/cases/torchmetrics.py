"""torchmetrics: metrics as functions and as modules that collect."""

import models
import torch
import torchmetrics
from torchmetrics import functional as F

PACKAGE = "torchmetrics"


def _scores(rows=20, classes=4):
    return models.uniform(rows, classes, name="scores").softmax(-1)


def _labels(rows=20, classes=4):
    return models.integers(classes, rows, name="labels")


def _classification():
    metrics = torchmetrics.MetricCollection(
        {
            name: kind(task="multiclass", num_classes=4, **options)
            for name, kind, options in [
                ("accuracy", torchmetrics.Accuracy, {}), ("f1", torchmetrics.F1Score, {"average": "macro"}), ("auroc", torchmetrics.AUROC, {}),
                ("ap", torchmetrics.AveragePrecision, {}), ("matrix", torchmetrics.ConfusionMatrix, {}), ("kappa", torchmetrics.CohenKappa, {}),
                ("mcc", torchmetrics.MatthewsCorrCoef, {}), ("calibration", torchmetrics.CalibrationError, {}), ("specificity", torchmetrics.Specificity, {}),
            ]
        }
    )  # fmt: skip
    for part in range(2):
        metrics.update(_scores()[part::2], _labels()[part::2])
    return models.arrays(metrics.compute())


def _regression():
    x, y = models.normal(20, name="x"), models.normal(20, name="y")
    kinds = (
        torchmetrics.MeanSquaredError, torchmetrics.MeanAbsoluteError, torchmetrics.PearsonCorrCoef, torchmetrics.SpearmanCorrCoef, torchmetrics.R2Score,
        torchmetrics.ExplainedVariance, torchmetrics.KendallRankCorrCoef, torchmetrics.ConcordanceCorrCoef,
    )  # fmt: skip
    return models.arrays({kind.__name__: kind()(x, y) for kind in kinds})


def _images():
    x, y = models.uniform(2, 3, 32, 32, name="x"), models.uniform(2, 3, 32, 32, name="y")
    return models.arrays(
        [
            F.structural_similarity_index_measure(x, y, data_range=1.0), F.peak_signal_noise_ratio(x, y, data_range=1.0), F.total_variation(x),
            F.universal_image_quality_index(x, y), F.spectral_angle_mapper(x, y),
        ]
    )  # fmt: skip


def _curves():
    binary = (models.uniform(30, name="p"), models.integers(2, 30, name="t"))
    return models.arrays([F.roc(*binary, task="binary"), F.precision_recall_curve(*binary, task="binary"), F.auroc(*binary, task="binary")])


def _retrieval():
    index = torch.arange(20) // 5
    return models.arrays([kind()(models.uniform(20), _labels(20, 2), indexes=index) for kind in (torchmetrics.RetrievalMAP, torchmetrics.RetrievalMRR)])


def _aggregation():
    mean, running = torchmetrics.MeanMetric(), torchmetrics.MaxMetric()
    for value in models.normal(5):
        mean.update(value)
        running.update(value)
    copy = torchmetrics.MeanMetric()
    mean.persistent(True)
    copy.persistent(True)
    copy.load_state_dict(mean.state_dict())
    return models.arrays([mean.compute(), running.compute(), copy.compute()])


CASES = {
    "classification": _classification,
    "curves": _curves,
    "regression": _regression,
    "images": _images,
    "retrieval": _retrieval,
    "aggregation": _aggregation,
}
