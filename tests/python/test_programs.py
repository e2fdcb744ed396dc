"""Programs that users write, run whole: what each learns is checked."""

import pytest

from programs import (
    autoencoder,
    char_gru,
    checkpoint,
    classifier,
    custom_function,
    gan,
    gradient_accumulation,
    hooks,
    policy_gradient,
    transformer,
    weight_sharing,
    workers,
)


def test_classifier():
    result = classifier.main()
    assert result["accuracy"] > 0.96
    assert result["lr"] == pytest.approx(3e-3 * 0.3**2)


def test_autoencoder():
    result = autoencoder.main()
    assert result["error"] < 0.45 * result["error_of_the_mean"]
    assert result["code"] == (5, 8)


def test_char_gru():
    result = char_gru.main()
    assert result["recited"] == result["text"]


def test_transformer():
    result = transformer.main()
    assert result["accuracy"] > 0.95
    assert result["parameters"] == 8 * 32 + 2 * (4 * 32 * 32 + 4 * 32 + 2 * 32 * 64 + 64 + 32 + 4 * 32) + 32 * 8 + 8


def test_gan():
    result = gan.main()
    mean, std = result["wanted"]
    assert result["mean"] == pytest.approx(mean, abs=0.5)
    assert 0.3 * std < result["std"] < 2.5 * std


def test_policy_gradient():
    result = policy_gradient.main()
    assert result["last"] < min(result["first"], 7)


def test_custom_function():
    assert custom_function.main() == {"checked": True, "wrong_signs": 0}


def test_weight_sharing():
    result = weight_sharing.main()
    assert result["accuracy"] == 1.0
    assert result["same"] and result["parameters"] == 3
    assert result["keys"] == ["body.bias", "body.weight", "embed.weight", "head.weight"]


def test_gradient_accumulation():
    result = gradient_accumulation.main()
    assert result["difference"] < 1e-5
    assert result["last"] < 0.8 * result["first"]


def test_checkpoint():
    result = checkpoint.main()
    assert result["equal"] and result["resumed"] == result["expected"]


def test_workers():
    result = workers.main()
    assert result["loss"] < 0.01
    assert result["workers"] == [0, 1]
    assert result["elsewhere"] and result["complete"]


def test_hooks():
    result = hooks.main()
    assert result["activations"] == {"0": (16, 8), "1": (16, 8), "2": (16, 3)}
    assert result["negative"] == 0
    assert result["before"] > 0.01 >= result["after"] - 1e-9
    assert result["frozen"] == [None, None]
    assert result["removed"]
