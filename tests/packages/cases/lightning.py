"""lightning: modules that a trainer trains, validates, tests, saves and loads."""

import pathlib
import tempfile

import lightning
import models
import torch
from lightning.pytorch import callbacks, loggers, profilers
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PACKAGE = "lightning"


class _Module(lightning.LightningModule):
    """A small classifier."""

    def __init__(self, rate=1e-2, scheduled=False):
        super().__init__()
        self.save_hyperparameters()
        self.net = models.filled(nn.Sequential(nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=True, on_epoch=True, prog_bar=True)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log_dict({"val_loss": nn.functional.cross_entropy(self(x), y), "val_accuracy": (self(x).argmax(-1) == y).float().mean()})

    test_step = validation_step

    def predict_step(self, batch, index):
        return self(batch[0]).softmax(-1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.rate)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)] if self.hparams.scheduled else []


class _Manual(_Module):
    """Steps its optimizer by itself."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, index):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(super().training_step(batch, index))
        optimizer.step()


def _loader():
    return DataLoader(TensorDataset(models.normal(24, 6), models.integers(3, 24)), batch_size=6)


def _trainer(folder, **options):
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False, "accelerator": "cpu", "enable_checkpointing": False}
    return lightning.Trainer(default_root_dir=folder, **{**quiet, "max_epochs": 2, **options})


def _fitted(build=_Module, **options):
    def run():
        module = build()
        with tempfile.TemporaryDirectory() as folder:
            trainer = _trainer(folder, **options)
            trainer.fit(module, _loader(), _loader())
        return models.arrays({**module.state_dict(), **trainer.callback_metrics})

    return run


def _everything():
    """Trained with checkpoints, logs and callbacks; loaded; tested; asked for predictions."""
    with tempfile.TemporaryDirectory() as folder:
        kept = callbacks.ModelCheckpoint(folder, monitor="val_loss", save_top_k=1, save_last=True)
        extra = [kept, callbacks.EarlyStopping("val_loss", patience=1), callbacks.LearningRateMonitor(), callbacks.ModelSummary()]
        log = loggers.CSVLogger(folder)
        trainer = _trainer(folder, callbacks=extra, enable_checkpointing=True, logger=log, log_every_n_steps=2, enable_progress_bar=True)
        trainer.fit(_Module(scheduled=True), _loader(), _loader())
        best = _Module.load_from_checkpoint(kept.best_model_path)
        tested = trainer.test(best, _loader(), verbose=False)
        told = trainer.predict(best, _loader())
        resumed = _Module(scheduled=True)
        _trainer(folder, max_epochs=3).fit(resumed, _loader(), ckpt_path=kept.last_model_path)
        rows = pathlib.Path(log.log_dir, "metrics.csv").read_text().count("\n")
    return models.arrays([*tested, *told, dict(resumed.named_parameters()), rows])


def _fabric():
    fabric = lightning.Fabric(accelerator="cpu")
    network = models.filled(nn.Linear(6, 3))
    network, optimizer = fabric.setup(network, torch.optim.SGD(network.parameters(), 0.1))
    for x, y in fabric.setup_dataloaders(_loader()):
        optimizer.zero_grad()
        fabric.backward(nn.functional.cross_entropy(network(x), y))
        fabric.clip_gradients(network, optimizer, max_norm=1.0)
        optimizer.step()
    return models.arrays(dict(network.named_parameters()))


CASES = {
    "fit": _fitted(),
    "fit, clipped, accumulated": _fitted(gradient_clip_val=0.1, accumulate_grad_batches=2),
    "manual optimization": _fitted(_Manual),
    "bfloat16": lambda: {"is finite": models.numpy.isfinite(_fitted(precision="bf16-mixed")()["output.train_loss"])},
    "averaged weights": _fitted(callbacks=[callbacks.StochasticWeightAveraging(swa_lrs=1e-2, swa_epoch_start=1)]),
    "profiled": _fitted(profiler="simple"),
    "profiled by torch.profiler": lambda: _fitted(profiler=profilers.PyTorchProfiler(dirpath=tempfile.gettempdir(), filename="profile"))(),
    "Fabric": _fabric,
    "checkpoints, logs, tests, predictions": _everything,
}
