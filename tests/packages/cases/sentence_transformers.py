"""sentence-transformers: poolings, losses and searches over embeddings."""

import models
import torch
from sentence_transformers import losses, util
from sentence_transformers.models import Dense, Normalize, Pooling
from torch import nn

PACKAGE = "sentence-transformers"


def _pooled(mode):
    def run():
        mask = torch.ones(3, 6, dtype=torch.int64)
        mask[1, 4:] = 0
        words = models.normal(3, 6, 8).requires_grad_()
        features = {"token_embeddings": words, "attention_mask": mask, "cls_token_embeddings": words[:, 0]}
        found = Pooling(8, mode)(features)["sentence_embedding"]
        (found * models.uniform(*found.shape)).sum().backward()
        return models.arrays([found, words.grad])

    return run


class _Sentences(nn.Module):
    """Embeddings that are given, as a model of sentences would give them."""

    def forward(self, features):
        return {"sentence_embedding": features["x"]}

    device = torch.device("cpu")

    def get_sentence_embedding_dimension(self):
        return 8

    get_embedding_dimension = get_sentence_embedding_dimension


def _loss(build, count=2, labels=None):
    def run():
        sentences = [models.normal(6, 8, name=f"sentence {place}").requires_grad_() for place in range(count)]
        loss = models.filled(build(_Sentences()))([{"x": x} for x in sentences], labels)
        loss.backward()
        return models.arrays([loss, *(x.grad for x in sentences)])

    return run


def _searched():
    queries, corpus = models.normal(3, 8), models.normal(20, 8, name="corpus")
    found = util.semantic_search(queries, corpus, top_k=4)
    ids = torch.tensor([[hit["corpus_id"] for hit in hits] for hits in found])
    groups = util.community_detection(corpus, threshold=0.3, min_community_size=2)
    return models.arrays(
        [ids, torch.tensor([len(group) for group in groups]), util.cos_sim(queries, corpus), util.pairwise_angle_sim(queries, queries.flip(0))]
    )


def _layers():
    dense = Dense(8, 5)
    network = nn.Sequential(dense, Normalize())
    return models.passes(network, {"sentence_embedding": models.normal(3, 8)}, pick=lambda features: features["sentence_embedding"])


LABELS, KINDS = models.uniform(6, name="labels"), models.integers(3, 6, name="kinds")
CASES = {f"{mode} pooling": _pooled(mode) for mode in ("cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")} | {
    "MultipleNegativesRankingLoss": _loss(losses.MultipleNegativesRankingLoss),
    "with hard negatives": _loss(losses.MultipleNegativesRankingLoss, 3),
    "CosineSimilarityLoss": _loss(losses.CosineSimilarityLoss, labels=LABELS),
    "CoSENTLoss": _loss(losses.CoSENTLoss, labels=LABELS),
    "AnglELoss": _loss(losses.AnglELoss, labels=LABELS),
    "ContrastiveLoss": _loss(losses.ContrastiveLoss, labels=LABELS.round()),
    "OnlineContrastiveLoss": _loss(losses.OnlineContrastiveLoss, labels=LABELS.round()),
    "TripletLoss": _loss(losses.TripletLoss, 3),
    "SoftmaxLoss": _loss(lambda model: losses.SoftmaxLoss(model, 8, 3), labels=KINDS),
    "BatchHardTripletLoss": _loss(losses.BatchHardTripletLoss, 1, KINDS),
    "BatchSemiHardTripletLoss": _loss(losses.BatchSemiHardTripletLoss, 1, KINDS),
    "MatryoshkaLoss": _loss(lambda model: losses.MatryoshkaLoss(model, losses.CosineSimilarityLoss(model), [8, 4]), labels=LABELS),
    "search": _searched,
    "layers": _layers,
}
