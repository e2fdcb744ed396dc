"""The example `finetune`: a run that is killed and resumed ends as one that was not, what it learns, errors."""

import os
import signal
import subprocess
import sys
import time

import pytest
from model_folders import EXAMPLES, failing, small, write

import opforge as torch

from embeddings.__main__ import main as embeddings  # isort: skip  found where model_folders says
from embeddings.encoder import Encoder  # isort: skip
from finetune.__main__ import main  # isort: skip
from finetune.data import read_labelled, shuffled, split  # isort: skip
from finetune.training import Settings, Training, Vectors, head  # isort: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    small(["bert", str(folder)])
    return folder


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "lines.tsv"
    small(["lines", str(path)])
    return path


def arguments(folder, lines, out, *more):
    return ["train", str(folder), str(lines), "-o", str(out), *map(str, more)]


def start(command):
    paths = os.pathsep.join(filter(None, [str(EXAMPLES.parents[1] / "python"), os.environ.get("PYTHONPATH")]))
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "finetune", *command], cwd=EXAMPLES, env=os.environ | {"PYTHONPATH": paths}, stdout=pipe, stderr=pipe, text=True
    )


def wait_for(changed, process, seconds=120):
    deadline = time.monotonic() + seconds
    while not changed():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("more", [
    ["--epochs", 200, "--checkpoint-every", 50],
    ["--epochs", 10, "--checkpoint-every", 9, "--unfreeze", "--encoder-lr", 1e-3],
], ids=["frozen", "unfrozen"])  # fmt: skip
def test_a_killed_run_resumes_to_the_same_bits(folder, lines, tmp_path, more):
    main(arguments(folder, lines, tmp_path / "whole", *more))
    killed = tmp_path / "killed"
    checkpoint, command = killed / "checkpoint.safetensors", [*arguments(folder, lines, killed, *more), "--resume"]
    for _ in range(2):
        before = checkpoint.stat().st_ino if checkpoint.exists() else None
        process = start(command)
        wait_for(lambda: checkpoint.exists() and checkpoint.stat().st_ino != before, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL and not (killed / "classifier.safetensors").exists()
    process = start(command)
    told, said = process.communicate()
    assert process.returncode == 0, said
    assert told.startswith("resumed in epoch ")
    for name in ("model.safetensors", "classifier.safetensors"):
        assert same(torch.load(tmp_path / "whole" / name), torch.load(killed / name))
    assert not checkpoint.exists()


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


def trained(folder, path, **settings):
    """A training before its first step."""
    encoder, settings = Encoder(folder), Settings(**settings)
    torch.manual_seed(settings.seed)
    lines, _ = split(read_labelled(path, encoder.tokens), 0.2, 0)
    vectors = Vectors(encoder, lines.ids, not settings.unfreeze)
    return Training(head(64, len(lines.labels), settings.dropout), vectors, lines.classes, settings)


def test_all_of_the_state_is_needed(folder, lines):
    """Each part that is left out of a checkpoint makes another end: the test of killed runs would see it."""

    def weight_after(steps, state=None):
        training = trained(folder, lines, epochs=2)
        if state:
            training.load_state_dict(state)
        left = training.epoch_left()
        for _ in range(steps):
            next(left)
        return training.modules["head"][1].weight.detach().clone(), training.state_dict()

    _, state = weight_after(7)
    state = {name: dict(value) if isinstance(value, dict) else value for name, value in state.items()}
    fresh = trained(folder, lines, epochs=2).state_dict()
    expected, _ = weight_after(3, state)
    assert torch.equal(expected, weight_after(3, state)[0])
    for part in state:
        assert not torch.equal(expected, weight_after(3, state | {part: fresh[part]})[0]), part


def test_rates_rise_and_fall(folder, lines):
    training = trained(folder, lines, epochs=2, batch_size=64, warmup=0.2)
    assert training.batches == 9 and training.steps_left == 18
    rates = [training._rate(step) for step in range(19)]
    top = rates.index(1.0)
    assert top == 3 and rates[:4] == sorted(rates[:4]) and rates[0] == 0.25
    assert rates[4:] == sorted(rates[4:], reverse=True) and rates[18] == 0 < rates[17]


def test_the_frozen_encoder_stays_and_the_other_learns(folder, lines, tmp_path, capsys):
    before = torch.load(folder / "model.safetensors")
    main(arguments(folder, lines, tmp_path / "frozen", "--epochs", 2))
    assert same(torch.load(tmp_path / "frozen" / "model.safetensors"), before)
    main(arguments(folder, lines, tmp_path / "learned", "--unfreeze", "--encoder-lr", 1e-3, "--epochs", 3))
    after = torch.load(tmp_path / "learned" / "model.safetensors")
    assert after.keys() == before.keys()
    assert not any(torch.equal(before[name], after[name]) for name in before)
    assert "accuracy 100.00% on 144 held-out lines" in capsys.readouterr().out.splitlines()[-1]


def test_predictions_and_embeddings_of_what_was_trained(folder, lines, tmp_path, capsys):
    out, text = tmp_path / "out", tmp_path / "lines.txt"
    main(arguments(folder, lines, out, "--unfreeze", "--encoder-lr", 1e-3, "--epochs", 3))
    pairs = [line.split("\t") for line in lines.read_text().splitlines()]
    text.write_text("\n".join(sentence for _, sentence in pairs))
    capsys.readouterr()
    main(["predict", str(out), str(text)])
    told = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [[label, sentence] for label, _, sentence in told] == pairs
    assert all(0.25 < float(share) <= 1 for _, share, _ in told)
    embeddings(["embed", str(out), str(text), "-o", str(tmp_path / "out.npy")])


def test_orders_are_the_same_each_time_and_others_each_epoch(lines):
    assert shuffled(50, 3, 1) == shuffled(50, 3, 1) != shuffled(50, 3, 2) != shuffled(50, 4, 2)
    assert sorted(shuffled(50, 3, 1)) == list(range(50))
    whole = read_labelled(lines, lambda texts: texts)
    learned, held_out = split(whole, 0.25, 0)
    assert len(held_out.ids) == 180 and sorted(learned.ids + held_out.ids) == sorted(whole.ids)
    label = dict(zip(whole.ids, whole.classes))
    assert all(label[text] == place for part in (learned, held_out) for text, place in zip(part.ids, part.classes))


def test_checkpoints_of_other_runs_are_not_taken_up(folder, lines, tmp_path, capsys):
    out, more = tmp_path / "out", ["--epochs", 400, "--checkpoint-every", 20]
    process = start(arguments(folder, lines, out, *more))
    wait_for((out / "checkpoint.safetensors").exists, process)
    process.kill()
    process.communicate()
    stored = (out / "checkpoint.safetensors").read_bytes()
    assert "--resume continues it" in failing(capsys, "finetune", main, *arguments(folder, lines, out, *more))
    assert "other settings" in failing(capsys, "finetune", main, *arguments(folder, lines, out, *more, "--resume", "--lr", 1))
    assert "other settings" in failing(capsys, "finetune", main, *arguments(write(tmp_path / "m", "bert"), lines, out, *more, "--resume"))
    assert (out / "checkpoint.safetensors").read_bytes() == stored
    (out / "checkpoint.safetensors").write_bytes(stored[: len(stored) // 2])
    assert "malformed" in failing(capsys, "finetune", main, *arguments(folder, lines, out, *more, "--resume"))


@pytest.mark.parametrize("text, said", [
    ("", "is empty"),
    ("good\tone\nbad two\n", "line 2 is not label<TAB>text"),
    ("good\t \n", "line 1 is not label<TAB>text"),
    ("good\tone\ngood\ttwo\n", "all lines have the label 'good'"),
    ("good\tone\nbad\ttwo\n", "2 lines are too few to hold out a share of 0.2"),
    ("good\tone\nbad\ttwo\n" * 5 + "bad\t" + "rain " * 70, "line 11 has 72 tokens, the model takes 64"),
])  # fmt: skip
def test_lines_that_cannot_be_learned(folder, tmp_path, capsys, text, said):
    lines = tmp_path / "lines.tsv"
    lines.write_text(text)
    assert said in failing(capsys, "finetune", main, *arguments(folder, lines, tmp_path / "out"))


def test_a_loss_that_is_no_number_ends_the_run(folder, lines, tmp_path, capsys):
    more = ["--unfreeze", "--encoder-lr", "1e30", "--warmup", "0"]
    assert "the loss is nan after batch 2 of epoch 1" in failing(capsys, "finetune", main, *arguments(folder, lines, tmp_path / "out", *more))
    assert not (tmp_path / "out" / "classifier.safetensors").exists()


def test_the_model_is_not_written_over(folder, lines, capsys):
    before = (folder / "model.safetensors").read_bytes()
    assert "is the model itself" in failing(capsys, "finetune", main, *arguments(folder, lines, folder))
    assert (folder / "model.safetensors").read_bytes() == before


def test_folders_without_a_classifier(folder, lines, tmp_path, capsys):
    assert "classifier.safetensors: No such file" in failing(capsys, "finetune", main, "predict", folder, lines)
    (folder / "classifier.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    assert "has no entry 'head'" in failing(capsys, "finetune", main, "predict", folder, lines)
    torch.save({"head": head(32, 4).state_dict(), "labels": list("abcd")}, folder / "classifier.safetensors")
    assert "[4, 32]" in failing(capsys, "finetune", main, "predict", folder, lines)
    (folder / "classifier.safetensors").unlink()
