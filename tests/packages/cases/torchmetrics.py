"""torchmetrics: metrics over batches, as functions and as modules with states."""

import models
import torch
import torchmetrics
from torchmetrics import functional as F
from torchmetrics.functional import clustering

PACKAGE = "torchmetrics"
CLASSES = 4


def _batches():
    return [(models.normal(20, CLASSES, name=f"scores{i}"), models.integers(CLASSES, 20, name=f"labels{i}")) for i in range(3)]


def _classified(name, **options):
    def run():
        metric = getattr(torchmetrics, name)(task="multiclass", num_classes=CLASSES, **options)
        steps = [metric(scores.softmax(-1), labels) for scores, labels in _batches()]
        return models.arrays([*steps, metric.compute()])

    return run


def _binary(name, **options):
    def run():
        metric = getattr(torchmetrics, name)(task="binary", **options)
        for scores, labels in _batches():
            metric.update(scores[:, 0].sigmoid(), labels % 2)
        return models.arrays(metric.compute())

    return run


def _regressed(name, **options):
    def run():
        metric = getattr(torchmetrics, name)(**options)
        for scores, labels in _batches():
            metric.update(scores[:, 0].abs(), labels.float())
        return models.arrays(metric.compute())

    return run


def _function(name, *inputs, **options):
    def run():
        found = F
        for part in name.split("."):
            found = getattr(found, part)
        return models.arrays(found(*(make() for make in inputs), **options))

    return run


def _image(name="image"):
    return lambda: models.uniform(2, 3, 48, 48, name=name)


def _sound(name="sound"):
    return lambda: models.normal(2, 400, name=name)


def _collection():
    collection = torchmetrics.MetricCollection(
        {"f1": torchmetrics.F1Score("multiclass", num_classes=CLASSES, average="macro"), "accuracy": torchmetrics.Accuracy("multiclass", num_classes=CLASSES)}
    )
    for scores, labels in _batches():
        collection.update(scores, labels)
    states = {name: tensor for name, tensor in collection.state_dict().items()}
    tracker = torchmetrics.MinMaxMetric(torchmetrics.MeanSquaredError())
    tracked = [tracker(scores[:, 0], labels.float()) for scores, labels in _batches()]
    return models.arrays([collection.compute(), states, tracked])


def _text():
    said, meant = ["the cat is on the mat", "a dog ran"], [["there is a cat on the mat", "a cat is on the mat"], ["the dog ran away"]]
    first = [one[0] for one in meant]
    return models.arrays([
        F.text.bleu_score(said, meant), F.text.char_error_rate(said, first), F.text.word_error_rate(said, first), F.text.chrf_score(said, meant),
        F.text.edit_distance(said, first), F.text.perplexity(models.normal(2, 5, 7), models.integers(7, 2, 5)),
    ])  # fmt: skip


def _detected():
    corner = models.uniform(5, 2, name="corner") * 20
    boxes = torch.cat([corner, corner + 2 + 8 * models.uniform(5, 2, name="size")], 1)
    return models.arrays([
        F.detection.intersection_over_union(boxes, boxes.flip(0), aggregate=False),
        F.detection.generalized_intersection_over_union(boxes, boxes + 1, aggregate=False),
        F.detection.complete_intersection_over_union(boxes, boxes + 1, aggregate=False),
    ])  # fmt: skip


def _copied():
    """A metric that is reset, copied, added to another and saved."""
    first, second = torchmetrics.MeanMetric(), torchmetrics.SumMetric()
    for scores, _ in _batches():
        first.update(scores)
        second.update(scores)
    both, again = first + second, first.clone()
    again.persistent(True)
    state = again.state_dict()
    results = [both.compute(), again.compute(), state]
    first.reset()
    return models.arrays([*results, first.update_count])


CASES = {
    **{
        name: _classified(name)
        for name in """Accuracy F1Score Precision Recall ConfusionMatrix AUROC AveragePrecision CohenKappa MatthewsCorrCoef JaccardIndex CalibrationError
        StatScores Specificity HingeLoss""".split()
    },
    "ROC": _classified("ROC", thresholds=7),
    "PrecisionRecallCurve": _classified("PrecisionRecallCurve"),
    **{f"binary {name}": _binary(name) for name in "Accuracy AUROC ROC AveragePrecision CalibrationError PrecisionRecallCurve".split()},
    **{
        name: _regressed(name)
        for name in """MeanSquaredError MeanAbsoluteError MeanAbsolutePercentageError R2Score ExplainedVariance PearsonCorrCoef SpearmanCorrCoef
        KendallRankCorrCoef ConcordanceCorrCoef LogCoshError MeanSquaredLogError TweedieDevianceScore
        RelativeSquaredError SymmetricMeanAbsolutePercentageError""".split()
    },
    "structural similarity": _function("structural_similarity_index_measure", _image(), _image("other")),
    "structural similarity of many scales": _function("multiscale_structural_similarity_index_measure", _image(), _image("other"), betas=(0.5, 0.5)),
    "peak signal to noise": _function("peak_signal_noise_ratio", _image(), _image("other"), data_range=1.0),
    "universal quality": _function("universal_image_quality_index", _image(), _image("other")),
    "spectral angle": _function("spectral_angle_mapper", _image(), _image("other")),
    "total variation": _function("total_variation", _image()),
    "image gradients": _function("image_gradients", _image()),
    "visual information": _function("image.visual_information_fidelity", _image(), _image("other")),
    "signal to noise": _function("signal_noise_ratio", _sound(), _sound("noise")),
    "scale invariant signal to distortion": _function("scale_invariant_signal_distortion_ratio", _sound(), _sound("noise")),
    "signal to distortion": _function("audio.signal_distortion_ratio", _sound(), _sound("noise"), filter_length=32),
    "pairwise distances": lambda: models.arrays(
        [getattr(F, f"pairwise_{name}")(models.normal(5, 3)) for name in ("cosine_similarity", "euclidean_distance", "linear_similarity", "manhattan_distance")]
    ),
    "retrieval": lambda: models.arrays([
        torchmetrics.RetrievalMAP()(models.uniform(12), models.integers(2, 12), indexes=models.integers(3, 12, name="query")),
        torchmetrics.RetrievalNormalizedDCG()(models.uniform(12), models.integers(4, 12), indexes=models.integers(3, 12, name="query")),
    ]),
    "clustering": lambda: models.arrays([
        clustering.mutual_info_score(models.integers(3, 30), models.integers(3, 30, name="other")),
        clustering.adjusted_rand_score(models.integers(3, 30), models.integers(3, 30, name="other")),
        clustering.davies_bouldin_score(models.normal(30, 2), models.integers(3, 30)),
    ]),
    "text": _text,
    "detection": _detected,
    "collection": _collection,
    "states": _copied,
}  # fmt: skip
