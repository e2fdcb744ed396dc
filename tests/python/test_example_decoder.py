"""The example `decoder`: Llama against a naive one, its cache, sampling, streamed text, errors."""

import json
import math

import numpy
import pytest
from model_folders import change_json, change_weights, failing, weights, write

import opforge as torch

from decoder import llama, rope  # isort: skip  found where model_folders says
from decoder.__main__ import main  # isort: skip
from decoder.cache import Cache  # isort: skip
from decoder.generate import Text, generate  # isort: skip
from decoder.sampling import Sampler, penalised  # isort: skip
from small.train import byte_level  # isort: skip

IDS = [0, 17, 300, 5, 5, 260, 411, 90, 33, 2, 128, 301]
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("llama"), "llama", rope_scaling=LLAMA3)


@pytest.fixture
def own(tmp_path):
    """A folder that the test may spoil."""
    return write(tmp_path / "model", "llama")


def logits(folder, ids=IDS):
    model, _ = llama.load(folder)
    with torch.no_grad():
        return model(torch.tensor([ids]))[0].numpy()


def norm(w, x, eps=1e-6):
    return x / numpy.sqrt((x**2).mean(-1, keepdims=True) + eps) * w


def turned(x, frequencies):
    """Rows `[positions, width]`, whose pairs (i, i + width / 2) are complex numbers that turn with the position."""
    pairs = x[:, : x.shape[1] // 2] + 1j * x[:, x.shape[1] // 2 :]
    pairs = pairs * numpy.exp(1j * numpy.outer(numpy.arange(len(x)), frequencies))
    return numpy.hstack([pairs.real, pairs.imag])


def naive_llama(w, ids, frequencies, heads=4, shared=2, width=16):
    """The logits of a model of one layer, head by head and token by token, in f64; `shared` heads of queries have one of keys and values."""
    x = w["model.embed_tokens.weight"][ids]
    at = "model.layers.0"
    y = norm(w[f"{at}.input_layernorm.weight"], x)
    query, key, value = (y @ w[f"{at}.self_attn.{name}_proj.weight"].T for name in "qkv")
    gathered = numpy.zeros_like(query)
    for head in range(heads):
        part, theirs = (slice(i * width, (i + 1) * width) for i in (head, head // shared))
        q, k = turned(query[:, part], frequencies), turned(key[:, theirs], frequencies)
        for token in range(len(ids)):
            scores = numpy.exp(k[: token + 1] @ q[token] / math.sqrt(width))
            gathered[token, part] = scores / scores.sum() @ value[: token + 1, theirs]
    x = x + gathered @ w[f"{at}.self_attn.o_proj.weight"].T
    y = norm(w[f"{at}.post_attention_layernorm.weight"], x)
    gate = y @ w[f"{at}.mlp.gate_proj.weight"].T
    x = x + (gate / (1 + numpy.exp(-gate)) * (y @ w[f"{at}.mlp.up_proj.weight"].T)) @ w[f"{at}.mlp.down_proj.weight"].T
    return norm(w["model.norm.weight"], x) @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


def naive_llama3(width, theta, factor, low, high, original):
    """Llama 3.1's frequencies by wavelengths, one by one."""
    found = []
    for i in range(width // 2):
        frequency = theta ** (-2 * i / width)
        wavelength = 2 * math.pi / frequency
        if wavelength > original / low:
            frequency /= factor
        elif wavelength >= original / high:
            smooth = (original / wavelength - low) / (high - low)
            frequency = (1 - smooth) * frequency / factor + smooth * frequency
        found.append(frequency)
    return found


@pytest.mark.parametrize("scaling, expected", [
    ({}, lambda: [500.0 ** (-i / 8) for i in range(8)]),
    ({"type": "linear", "factor": 4.0}, lambda: [500.0 ** (-i / 8) / 4 for i in range(8)]),
    (LLAMA3, lambda: naive_llama3(16, 500.0, 8.0, 1.0, 4.0, 64)),
])  # fmt: skip
def test_one_layer_gives_what_a_naive_one_gives(own, scaling, expected):
    frequencies = expected()
    change_json(own / "config.json", num_hidden_layers=1, rope_theta=500.0, rope_scaling=scaling)
    numpy.testing.assert_allclose(rope.frequencies(16, 500.0, scaling).numpy(), frequencies, rtol=1e-6)
    found = logits(own)
    assert abs(found).max() > 1
    numpy.testing.assert_allclose(found, naive_llama(weights(own), IDS, frequencies), rtol=0, atol=1e-5)


def test_llama3_leaves_interpolates_and_divides():
    shares = [f / 500.0 ** (-i / 8) for i, f in enumerate(naive_llama3(16, 500.0, 8.0, 1.0, 4.0, 64))]
    assert shares[0] == 1 and shares[-1] == 1 / 8 and any(1 / 8 < share < 1 for share in shares)


def test_newer_files_have_theta_among_the_rope_parameters(own):
    change_json(own / "config.json", rope_theta=500.0, rope_scaling=LLAMA3)
    expected = logits(own)
    change_json(own / "config.json", rope_theta=..., rope_scaling=..., rope_parameters=LLAMA3 | {"rope_theta": 500.0})
    assert numpy.array_equal(logits(own), expected)


def test_tied_embeddings(own):
    change_json(own / "config.json", num_hidden_layers=1, tie_word_embeddings=True)
    change_weights(own, lambda name, x: None if name == "lm_head.weight" else x)
    plain = [10000.0 ** (-i / 8) for i in range(8)]
    numpy.testing.assert_allclose(logits(own), naive_llama(weights(own), IDS, plain), rtol=0, atol=1e-5)


@pytest.mark.parametrize("steps", [[1] * 12, [5, 1, 1, 5], [7, 4, 1]])
def test_with_a_cache_as_without(folder, steps):
    model, _ = llama.load(folder)
    cache, found, start = Cache(block=4), [], 0
    with torch.no_grad():
        for count in steps:
            found.append(model(torch.tensor([IDS[start : start + count]]), cache)[0].numpy())
            start += count
        last = model(torch.tensor([IDS]), last=True)[0].numpy()
    expected = logits(folder)
    numpy.testing.assert_allclose(numpy.concatenate(found), expected, rtol=0, atol=1e-5)
    numpy.testing.assert_allclose(last, expected[-1], rtol=0, atol=1e-5)


def test_the_cache_grows_by_blocks():
    cache, places = Cache(block=4), []
    whole = torch.randn(1, 2, 10, 3)
    for i in range(10):
        key, value = cache.extend(0, whole[:, :, i : i + 1], -whole[:, :, i : i + 1])
        cache.advance(1)
        assert torch.equal(key, whole[:, :, : i + 1]) and torch.equal(value, -whole[:, :, : i + 1])
        places.append(key.data_ptr())
        assert key.untyped_storage().nbytes() == 2 * (i // 4 + 1) * 4 * 3 * 4
    assert places[0] == places[3] and places[4] == places[7] and places[8] == places[9]


def test_shards(own):
    expected, stored = logits(own), torch.load(own / "model.safetensors")
    names = sorted(stored)
    files = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, inside in files.items():
        torch.save({name: stored[name] for name in inside}, own / file)
    (own / "model.safetensors").unlink()
    index = {name: file for file, inside in files.items() for name in inside}
    (own / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    assert numpy.array_equal(logits(own), expected)


def test_bfloat16_is_near(folder):
    model, _ = llama.load(folder, torch.bfloat16)
    with torch.no_grad():
        found = model(torch.tensor([IDS]), Cache())[0]
    assert found.dtype == torch.bfloat16
    expected = logits(folder)
    assert 0 < abs(found.float().numpy() - expected).max() < 0.1 * abs(expected).max()


def chosen(folder, prompt=(0, 17, 300), most=40, ends=(), **settings):
    model, _ = llama.load(folder)
    return list(generate(model, list(prompt), Sampler(**settings), most, ends))


def test_a_seed_decides_the_text(folder):
    first = chosen(folder, seed=1)
    assert len(first) == 40 and first == chosen(folder, seed=1) != chosen(folder, seed=2)
    assert chosen(folder, seed=None) != chosen(folder, seed=None)


def test_greedy_is_the_likeliest_token_each_time(folder):
    ids = [0, 17, 300]
    for token in chosen(folder, temperature=0, most=10):
        assert token == logits(folder, ids)[-1].argmax()
        ids.append(token)


def test_one_candidate_is_greedy(folder):
    greedy = chosen(folder, temperature=0)
    assert chosen(folder, top_k=1) == chosen(folder, top_p=1e-6) == chosen(folder, temperature=1e-30) == greedy


def test_an_end_ends(folder):
    whole = chosen(folder, seed=1)
    assert chosen(folder, seed=1, ends={whole[7]}) == whole[: whole.index(whole[7])]


@pytest.mark.parametrize("settings, shares", [
    ({}, [0.4, 0.3, 0.2, 0.1]),
    ({"top_k": 3}, [4 / 9, 3 / 9, 2 / 9, 0]),
    ({"top_p": 0.7}, [4 / 7, 3 / 7, 0, 0]),
    ({"top_p": 0.71}, [4 / 9, 3 / 9, 2 / 9, 0]),
    ({"top_k": 3, "top_p": 0.5}, [4 / 7, 3 / 7, 0, 0]),
    ({"temperature": 0.5}, [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
    ({"repetition_penalty": 2.0}, [0.16, 0.3, 0.2, 0.1]),
])  # fmt: skip
def test_tokens_come_as_often_as_they_should(settings, shares):
    log, sampler = torch.tensor([0.4, 0.3, 0.2, 0.1]).log(), Sampler(seed=3, **settings)
    order = [2, 0, 3, 1]  # The likeliest is not the first.
    counts = numpy.bincount([sampler(log[order], [1, 1]) for _ in range(4000)], minlength=4)[[1, 3, 0, 2]]
    numpy.testing.assert_allclose(counts / 4000, numpy.array(shares) / sum(shares), atol=0.03)
    assert all(count == 0 for count, share in zip(counts, shares) if share == 0)


def test_the_penalty_lowers_what_was_there():
    found = penalised(torch.tensor([2.0, -2.0, 3.0, -3.0]), [0, 1, 1], 4.0)
    assert found.tolist() == [0.5, -8.0, 3.0, -3.0]


@pytest.mark.parametrize("text", ["The rain is expected.", "naïve café – 你好, 🎻🎻 done", "  two  spaces\nand lines "])
def test_streamed_text_is_the_whole_text(text):
    tokenizer = byte_level()
    ids = tokenizer.encode(text).ids
    stream = Text(tokenizer, ids[:3])
    parts = [stream.add(token) for token in ids[3:]]
    assert not any("\N{REPLACEMENT CHARACTER}" in part for part in parts) and stream.rest() == ""
    assert tokenizer.decode(ids[:3]) + "".join(parts) == text
    assert len(stream.ids) <= 8


def test_what_ends_within_a_character_is_told_at_the_end():
    tokenizer = byte_level()
    stream, ids = Text(tokenizer), tokenizer.encode("a 你").ids
    assert "".join(stream.add(token) for token in ids[:-1]) + stream.rest() == "a \N{REPLACEMENT CHARACTER}"


def test_the_command_streams_and_tells_its_speed(folder, capsys):
    arguments = ["generate", str(folder), "The rain", "--max-new-tokens", "9", "--seed", "4", "--top-p", "0.9"]
    main(arguments)
    first = capsys.readouterr()
    main(arguments)
    assert capsys.readouterr().out == first.out and first.out.startswith("The rain") and len(first.out) > 12
    assert first.err.startswith("prompt: ") and "generation: 9 tokens, " in first.err


def test_generation_config_says_what_ends(own, capsys):
    arguments = ["generate", str(own), "The rain", "--seed", "4"]
    main(arguments)
    assert "generation: 64 tokens" in capsys.readouterr().err
    change_json(own / "generation_config.json", eos_token_id=list(range(1000)))
    main(arguments)
    assert capsys.readouterr().out == "The rain\n"


SPOILED = {
    "'model_type' is 'mistral'": dict(model_type="mistral"),
    "'hidden_act' is 'gelu'; only 'silu' is known": dict(hidden_act="gelu"),
    "4 heads are no multiple of 3 heads": dict(num_key_value_heads=3),
    "the rope type 'yarn' is not known": dict(rope_scaling={"rope_type": "yarn", "factor": 2.0}),
    "'factor' is None, but should be a positive number": dict(rope_scaling={"rope_type": "linear"}),
    "'rope_theta' is 0, but should be a positive": dict(rope_parameters={"rope_theta": 0}),
    "'high_freq_factor' is 1.0, but should be above": dict(rope_scaling=LLAMA3 | {"high_freq_factor": 1.0}),
    "heads are 15 wide": dict(head_dim=15),
    "0 heads are no multiple": dict(num_attention_heads=0),
    "has no weight 'model.layers.2.": dict(num_hidden_layers=3),
    "'lm_head.weight' is of shape": dict(vocab_size=599),
    "new ones are more than the model takes, 32": dict(max_position_embeddings=32),
}


@pytest.mark.parametrize("said", SPOILED)
def test_a_spoiled_folder_is_one_line(own, capsys, said):
    change_json(own / "config.json", **SPOILED[said])
    if "lm_head" in said:
        change_weights(own, lambda name, x: x[:599] if name == "model.embed_tokens.weight" else x)
    assert said in failing(capsys, "decoder", main, "generate", own, "The rain")


def test_a_missing_shard_and_an_index_without_a_map(own, capsys):
    (own / "model.safetensors").unlink()
    index = own / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"lm_head.weight": "model-1.safetensors"}}))
    assert "model-1.safetensors: No such file" in failing(capsys, "decoder", main, "generate", own, "The rain")
    index.write_text("{}")
    assert "has no 'weight_map'" in failing(capsys, "decoder", main, "generate", own, "The rain")


@pytest.mark.parametrize("arguments", [["--top-p", "0"], ["--temperature", "-1"], ["--temperature", "warm"], ["--max-new-tokens", "0"]])
def test_arguments_that_cannot_be(folder, capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(["generate", str(folder), "The rain", *arguments])
    assert ended.value.code == 2 and f"argument {arguments[0]}" in capsys.readouterr().err
