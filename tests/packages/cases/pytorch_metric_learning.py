"""pytorch-metric-learning: losses of embeddings, miners, distances, reducers."""

import models
import torch
from pytorch_metric_learning import distances, losses, miners, reducers

PACKAGE = "pytorch-metric-learning"
WIDTH, KINDS = 8, 4


def _inputs():
    return models.normal(16, WIDTH).requires_grad_(), torch.arange(16) % KINDS


def _loss(build):
    def run():
        embeddings, labels = _inputs()
        torch.manual_seed(0)
        loss_function = models.filled(build())
        loss = loss_function(embeddings, labels)
        loss.backward()
        gradients = {name: parameter.grad for name, parameter in loss_function.named_parameters() if parameter.grad is not None}
        return models.arrays([loss, embeddings.grad]) | models.arrays(gradients, "gradient")

    return run


def _mined(build):
    def run():
        embeddings, labels = _inputs()
        return models.arrays(build()(embeddings.detach(), labels))

    return run


def _distance(build):
    return lambda: models.arrays(build()(models.normal(5, WIDTH), models.normal(6, WIDTH, name="other")))


def _classes(name, **options):
    return lambda: getattr(losses, name)(num_classes=KINDS, embedding_size=WIDTH, **options)


_PLAIN = """AngularLoss CircleLoss ContrastiveLoss DynamicSoftMarginLoss FastAPLoss GeneralizedLiftedStructureLoss HistogramLoss
IntraPairVarianceLoss LiftedStructureLoss MultiSimilarityLoss NCALoss NTXentLoss PNPLoss RankedListLoss SignalToNoiseRatioContrastiveLoss SupConLoss
ThresholdConsistentMarginLoss TripletMarginLoss TupletMarginLoss"""
_NEEDS = {"RankedListLoss": {"margin": 0.5, "Tn": 1}, "HistogramLoss": {"n_bins": 10}}
_OF_CLASSES = """ArcFaceLoss CosFaceLoss LargeMarginSoftmaxLoss NormalizedSoftmaxLoss ProxyAnchorLoss ProxyNCALoss SoftTripleLoss SphereFaceLoss
SubCenterArcFaceLoss"""
CASES = (
    {name: _loss(lambda name=name: getattr(losses, name)(**_NEEDS.get(name, {}))) for name in _PLAIN.split()}
    | {name: _loss(_classes(name)) for name in _OF_CLASSES.split()}
    | {
        "cosine, not zero": _loss(lambda: losses.TripletMarginLoss(distance=distances.CosineSimilarity(), reducer=reducers.AvgNonZeroReducer())),
        "of each class": _loss(lambda: losses.ContrastiveLoss(reducer=reducers.ClassWeightedReducer(torch.tensor([1.0, 2.0, 3.0, 4.0])))),
        "VICReg": lambda: models.arrays(losses.VICRegLoss()(models.normal(6, 5), ref_emb=models.normal(6, 5, name="other"))),
        "mined": _mined(miners.MultiSimilarityMiner),
        "mined triplets": _mined(lambda: miners.TripletMarginMiner(margin=0.2, type_of_triplets="semihard")),
        "mined hard": _mined(miners.BatchHardMiner),
        "mined easy": _mined(miners.BatchEasyHardMiner),
        "mined by angle": _mined(miners.AngularMiner),
        "LpDistance": _distance(distances.LpDistance),
        "SNRDistance": _distance(distances.SNRDistance),
        "DotProductSimilarity": _distance(distances.DotProductSimilarity),
    }
)
