"""lightning: a trainer's loop, checkpoints, and Fabric."""

import tempfile

import lightning
import models
import torch

PACKAGE = "lightning"


class Classifier(lightning.LightningModule):
    """A small network that learns classes."""

    def __init__(self):
        super().__init__()
        self.save_hyperparameters()
        self.network = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))

    def training_step(self, batch, index):
        """The loss of a batch."""
        loss = torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1])
        self.log("loss", loss, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        """Logs the loss of a batch."""
        self.log("validation", torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1]))

    def configure_optimizers(self):
        """Adam with a schedule."""
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


def _loader():
    data = torch.utils.data.TensorDataset(models.normal(24, 6), models.integers(3, 24))
    return torch.utils.data.DataLoader(data, batch_size=4)


def _trainer(folder, **options):
    return lightning.Trainer(
        accelerator="cpu", max_epochs=2, default_root_dir=folder, logger=False, enable_progress_bar=False, enable_model_summary=False, **options
    )


def _trained():
    model = models.filled(Classifier())
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(folder, enable_checkpointing=False, gradient_clip_val=0.5, accumulate_grad_batches=2)
        trainer.fit(model, _loader(), _loader())
    return models.arrays([dict(model.named_parameters()), dict(trainer.callback_metrics)])


def _continued():
    model = models.filled(Classifier())
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(folder)
        trainer.fit(model, _loader())
        path = f"{folder}/last.ckpt"
        trainer.save_checkpoint(path)
        again = Classifier.load_from_checkpoint(path)
    return models.arrays([dict(model.named_parameters()), dict(again.named_parameters())])


def _fabric():
    fabric = lightning.Fabric(accelerator="cpu")
    network = models.filled(torch.nn.Linear(6, 3))
    network, optimizer = fabric.setup(network, torch.optim.SGD(network.parameters(), 0.1))
    for x, y in fabric.setup_dataloaders(_loader()):
        optimizer.zero_grad()
        fabric.backward(torch.nn.functional.cross_entropy(network(x), y))
        fabric.clip_gradients(network, optimizer, max_norm=1.0)
        optimizer.step()
    return models.arrays(dict(network.named_parameters()))


CASES = {"fit and validate": _trained, "checkpoints": _continued, "Fabric": _fabric}
