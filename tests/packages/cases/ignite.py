"""pytorch-ignite: engines, metrics and handlers of training."""

import tempfile

import models
import torch
from ignite import engine, handlers, metrics
from torch import nn

PACKAGE = "pytorch-ignite"


def _network():
    return models.filled(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)))


def _loader():
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(models.normal(12, 5), models.integers(3, 12)), batch_size=4)


def _trained(attach=lambda trainer, network, optimizer: None, **options):
    def run():
        network = _network()
        optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
        trainer = engine.create_supervised_trainer(network, optimizer, nn.CrossEntropyLoss(), **options)
        attach(trainer, network, optimizer)
        losses = []
        trainer.add_event_handler(engine.Events.ITERATION_COMPLETED, lambda trainer: losses.append(trainer.state.output))
        trainer.run(_loader(), max_epochs=2)
        return models.arrays([losses, dict(network.named_parameters())])

    return run


def _evaluated():
    wanted = {
        "accuracy": metrics.Accuracy(),
        "loss": metrics.Loss(nn.CrossEntropyLoss()),
        "precision": metrics.Precision(average=False),
        "recall": metrics.Recall(average="macro"),
        "confusion": metrics.ConfusionMatrix(3),
        "top": metrics.TopKCategoricalAccuracy(2),
        "F1": metrics.Fbeta(1.0),
    }
    evaluator = engine.create_supervised_evaluator(_network(), metrics=wanted)
    return models.arrays(dict(evaluator.run(_loader()).metrics))


def _metric(build, *shape, ints=None):
    def run():
        metric = build()
        for part in "abc":
            truth = models.integers(ints, *shape[:1], name=f"t{part}") if ints else models.uniform(*shape, name=f"t{part}")
            metric.update((models.uniform(*shape, name=part), truth))
        return models.arrays(metric.compute())

    return run


def _scheduled(trainer, network, optimizer):
    schedule = handlers.CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, cycle_size=4)
    trainer.add_event_handler(engine.Events.ITERATION_STARTED, handlers.create_lr_scheduler_with_warmup(schedule, 0.0, 2))


def _averaged():
    network = _network()
    trainer = engine.create_supervised_trainer(network, torch.optim.SGD(network.parameters(), 0.1), nn.CrossEntropyLoss())
    average = handlers.EMAHandler(network, momentum=0.1)
    average.attach(trainer)
    trainer.run(_loader(), max_epochs=1)
    return models.arrays(average.ema_model.state_dict())


def _kept():
    network, again = _network(), nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))
    trainer = engine.create_supervised_trainer(network, torch.optim.SGD(network.parameters(), 0.1), nn.CrossEntropyLoss())
    with tempfile.TemporaryDirectory() as folder:
        keeper = handlers.Checkpoint({"model": network, "trainer": trainer}, handlers.DiskSaver(folder, create_dir=True), n_saved=1)
        trainer.add_event_handler(engine.Events.EPOCH_COMPLETED, keeper)
        trainer.run(_loader(), max_epochs=1)
        handlers.Checkpoint.load_objects({"model": again}, torch.load(keeper.last_checkpoint))
    return models.arrays(again.state_dict())


CASES = {
    "training": _trained(),
    "training, accumulated": _trained(gradient_accumulation_steps=2),
    "training, scheduled": _trained(_scheduled),
    "evaluation": _evaluated,
    "averaged weights": _averaged,
    "checkpoints": _kept,
    "SSIM": _metric(lambda: metrics.SSIM(data_range=1.0), 2, 3, 16, 16),
    "PSNR": _metric(lambda: metrics.PSNR(data_range=1.0), 2, 3, 16, 16),
    "MeanPairwiseDistance": _metric(metrics.MeanPairwiseDistance, 4, 3),
    "RootMeanSquaredError": _metric(metrics.RootMeanSquaredError, 4),
    "R2Score": _metric(metrics.regression.R2Score, 4),
    "PearsonCorrelation": _metric(metrics.regression.PearsonCorrelation, 4),
    "CosineSimilarity": _metric(metrics.CosineSimilarity, 4, 3),
    "ROC_AUC": lambda: models.arrays(
        (lambda metric: (metric.update((models.uniform(9), models.integers(2, 9))), metric.compute())[1])(metrics.ROC_AUC())
    ),
}
