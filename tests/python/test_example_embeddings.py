"""The example `embeddings`: BERT against a naive one, pooling, the index, errors."""

import json
import os
import subprocess
import sys

import numpy
import pytest
from model_folders import EXAMPLES, change_json, change_weights, failing, weights, write
from scipy.special import erf

import opforge as torch

from embeddings import bert, index, pooling  # isort: skip  found where model_folders says
from embeddings.__main__ import main  # isort: skip
from embeddings.encoder import Encoder, pad  # isort: skip

LINES = ["The rain is expected on Thursday.", "Two sailors", "My grandmother fries onions in butter with salt and thyme.", "wind"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(tmp_path_factory.mktemp("bert"), "bert")


@pytest.fixture
def own(tmp_path):
    """A folder that the test may spoil."""
    return write(tmp_path / "model", "bert")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


def linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def norm(w, name, x, eps=1e-12):
    centred = x - x.mean(-1, keepdims=True)
    return centred / numpy.sqrt((centred**2).mean(-1, keepdims=True) + eps) * w[f"{name}.weight"] + w[f"{name}.bias"]


def naive_bert(w, ids, layers=2, heads=4):
    """One sentence of any length, head by head, in f64: `[tokens, width]`."""
    embedded = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(w, "embeddings.LayerNorm", embedded + w["embeddings.token_type_embeddings.weight"][0])
    width = x.shape[1] // heads
    for i in range(layers):
        at = f"encoder.layer.{i}"
        query, key, value = (linear(w, f"{at}.attention.self.{name}", x) for name in ("query", "key", "value"))
        gathered = []
        for head in range(heads):
            part = slice(head * width, (head + 1) * width)
            scores = numpy.exp(query[:, part] @ key[:, part].T / numpy.sqrt(width))
            gathered.append(scores / scores.sum(1, keepdims=True) @ value[:, part])
        x = norm(w, f"{at}.attention.output.LayerNorm", x + linear(w, f"{at}.attention.output.dense", numpy.hstack(gathered)))
        wide = linear(w, f"{at}.intermediate.dense", x)
        wide = wide * (1 + erf(wide / numpy.sqrt(2))) / 2
        x = norm(w, f"{at}.output.LayerNorm", x + linear(w, f"{at}.output.dense", wide))
    return x


def unit(x):
    return x / numpy.linalg.norm(x)


def test_bert_gives_what_a_naive_one_gives(folder):
    encoder, w = Encoder(folder), weights(folder)
    ids = encoder.tokens(LINES)
    padded, mask = pad(ids)
    with torch.no_grad():
        found = encoder.model(padded, mask)
    for row, line in zip(found, ids):
        expected = naive_bert(w, line)
        assert abs(expected).max() > 1
        numpy.testing.assert_allclose(row[: len(line)].numpy(), expected, rtol=0, atol=1e-5)


def test_embed_gives_normalised_means_in_the_order_of_lines(folder):
    encoder, w = Encoder(folder), weights(folder)
    ids = encoder.tokens(LINES)
    expected = [unit(naive_bert(w, line).mean(0)) for line in ids]
    for batch_size in (1, 3, 32):
        numpy.testing.assert_allclose(encoder.embed(ids, batch_size).numpy(), expected, rtol=0, atol=1e-5)


def test_padding_changes_nothing(folder):
    encoder = Encoder(folder)
    ids = encoder.tokens(LINES)
    together = encoder.embed(ids)
    for line, vector in zip(ids, together):
        numpy.testing.assert_allclose(encoder.embed([line])[0].numpy(), vector.numpy(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("rename", [
    lambda name: f"bert.{name}",
    lambda name: name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
])  # fmt: skip
def test_other_names_of_weights(own, rename):
    ids = Encoder(own).tokens(LINES)
    expected = Encoder(own).embed(ids)
    change_weights(own, lambda name, x: x, rename)
    assert torch.equal(Encoder(own).embed(ids), expected)


def test_bfloat16_is_near(folder):
    encoder = Encoder(folder)
    ids = encoder.tokens(LINES)
    rounded = Encoder(folder, torch.bfloat16).embed(ids)
    assert rounded.dtype == torch.float32
    cosines = (rounded * encoder.embed(ids)).sum(1)
    assert cosines.min() > 0.99 and cosines.min() < 1


@pytest.mark.parametrize("entries, expected", [
    ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, lambda x: x.mean(0)),
    ({"pooling_mode_cls_token": True}, lambda x: x[0]),
    ({"pooling_mode_max_tokens": True}, lambda x: x.max(0)),
    ({"pooling_mode": "cls"}, lambda x: x[0]),
])  # fmt: skip
@pytest.mark.parametrize("normalize", [True, False])
def test_pooling_as_the_files_say(own, entries, expected, normalize):
    (own / "1_Pooling").mkdir()
    change_json(own / "1_Pooling" / "config.json", word_embedding_dimension=64, **entries)
    steps = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")][: 3 if normalize else 2]
    (own / "modules.json").write_text(json.dumps([{"path": path, "type": f"sentence_transformers.models.{name}"} for path, name in steps]))
    encoder, w = Encoder(own), weights(own)
    ids = encoder.tokens(LINES)
    pooled = [expected(naive_bert(w, line)) for line in ids]
    numpy.testing.assert_allclose(encoder.embed(ids).numpy(), [unit(x) if normalize else x for x in pooled], rtol=0, atol=1e-5)


def test_lower_case_and_most_tokens_as_the_files_say(folder, own):
    change_json(own / "sentence_bert_config.json", max_seq_length=8, do_lower_case=True)
    encoder = Encoder(own)
    assert encoder.max_tokens == 8 and Encoder(folder).max_tokens == 64
    change_json(own / "tokenizer_config.json", model_max_length=10)
    assert Encoder(own).max_tokens == 8
    change_json(own / "sentence_bert_config.json", max_seq_length=...)
    assert len(Encoder(own).tokens([LINES[2]], truncate=True)[0]) == 10
    change_json(own / "tokenizer_config.json", model_max_length=10**30)
    assert Encoder(own).max_tokens == 64
    assert encoder.tokens(["THE RAIN"]) == encoder.tokens(["the rain"])
    cut = encoder.tokens([LINES[2]], truncate=True)[0]
    assert len(cut) == 8 and cut[-1] == encoder.tokenizer.token_to_id("[SEP]")


def test_embed_writes_both_kinds_of_files(folder, text, tmp_path, capsys):
    main(["embed", str(folder), str(text), "-o", str(tmp_path / "out.npy")])
    main(["embed", str(folder), str(text), "-o", str(tmp_path / "out.safetensors")])
    vectors = numpy.load(tmp_path / "out.npy")
    assert vectors.shape == (4, 64) and vectors.dtype == numpy.float32
    assert numpy.array_equal(torch.load(tmp_path / "out.safetensors")["embeddings"].numpy(), vectors)
    assert "4 vectors of 64 numbers" in capsys.readouterr().out


def found(capsys, *arguments):
    main(["search", *map(str, arguments)])
    return [line.split("  ", 1) for line in capsys.readouterr().out.splitlines()]


def test_search_finds_the_sentence_itself(folder, text, capsys):
    for line in LINES:
        best = found(capsys, folder, text, line, "-k", 3)
        assert len(best) == 3 and best[0] == ["1.0000", line]
        assert [float(cosine) for cosine, _ in best] == sorted((float(cosine) for cosine, _ in best), reverse=True)


def test_search_leaves_blank_lines_out(folder, text, capsys):
    text.write_text("wind\n\n  \nrain\n")
    assert sorted(line for _, line in found(capsys, folder, text, "", "-k", 9)) == ["rain", "wind"]


def test_the_index_is_kept_until_lines_or_weights_change(own, text, capsys, monkeypatch):
    embedded = []
    embed = Encoder.embed
    monkeypatch.setattr(Encoder, "embed", lambda self, ids, *rest: embedded.append(len(ids)) or embed(self, ids, *rest))

    def lines_embedded(*query):
        embedded.clear()
        found(capsys, own, text, *query)
        return embedded[1:]  # The first is the query.

    assert lines_embedded("wind") == [4]
    assert lines_embedded("rain") == []
    text.write_text("\n".join([*LINES, "fog"]))
    assert lines_embedded("wind") == [5]
    assert lines_embedded("wind") == []
    change_weights(own, lambda name, x: x * 1.5)
    assert lines_embedded("wind") == [5]
    index.place(text).write_bytes(b"not an index")
    assert lines_embedded("wind") == [5]


def config(**entries):
    return lambda own: change_json(own / "config.json", **entries)


def as_integers(name, x):
    return x.astype(numpy.int32) if name == "embeddings.LayerNorm.bias" else x


SPOILED = {
    "config.json: No such file": lambda own: (own / "config.json").unlink(),
    "config.json is not JSON": lambda own: (own / "config.json").write_text("{"),
    "config.json holds no dict": lambda own: (own / "config.json").write_text("[]"),
    "config.json has no 'hidden_size'": config(hidden_size=...),
    "config.json: 'hidden_size' is '64', but should be int": config(hidden_size="64"),
    "config.json: 'model_type' is 'roberta'": config(model_type="roberta"),
    "config.json: 'hidden_act' is 'tanhh'; known are gelu": config(hidden_act="tanhh"),
    "config.json: 'hidden_size' 64 is no multiple of 5 heads": config(num_attention_heads=5),
    "config.json: 'position_embedding_type' is 'relative_key'": config(position_embedding_type="relative_key"),
    "intermediate.dense.weight' is of shape [128, 64], config.json asks for [100, 64]": config(intermediate_size=100),
    "model.safetensors has no weight 'encoder.layer.2.attention": config(num_hidden_layers=3),
    "model.safetensors: 'embeddings.LayerNorm.bias' is of opforge.int32": lambda own: change_weights(own, as_integers),
    "model.safetensors: No such file": lambda own: (own / "model.safetensors").unlink(),
    "model.safetensors: malformed": lambda own: (own / "model.safetensors").write_bytes(b"12345678abcd"),
    "tokenizer.json: No such file": lambda own: (own / "tokenizer.json").unlink(),
    "tokenizer.json is not a tokenizer": lambda own: (own / "tokenizer.json").write_text("{}"),
    "modules.json: the module 'Dense'": lambda own: (own / "modules.json").write_text('[{"type": "x.Dense", "path": "3_Dense"}]'),
}


@pytest.mark.parametrize("said", SPOILED)
def test_a_spoiled_folder_is_one_line(own, text, tmp_path, capsys, said):
    SPOILED[said](own)
    assert said in failing(capsys, "embeddings", main, "embed", own, text, "-o", tmp_path / "out.npy")
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("entries, word", [
    ({"pooling_mode_lasttoken": True}, "pooling_mode_lasttoken"),
    ({"pooling_mode": "sum"}, "sum"),
    ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, "mean + max"),
])  # fmt: skip
def test_unknown_pooling(own, text, capsys, entries, word):
    (own / "1_Pooling").mkdir()
    change_json(own / "1_Pooling" / "config.json", **entries)
    said = failing(capsys, "embeddings", main, "search", own, text, "wind")
    assert word in said and "known are mean, cls, max" in said


def test_text_that_is_not_there_or_too_long(folder, text, tmp_path, capsys):
    assert "No such file" in failing(capsys, "embeddings", main, "search", folder, tmp_path / "none.txt", "wind")
    assert "is not a folder" in failing(capsys, "embeddings", main, "search", tmp_path / "none", text, "wind")
    text.write_text("\n")
    assert "is empty" in failing(capsys, "embeddings", main, "search", folder, text, "wind")
    text.write_bytes(b"wind\xff\n")
    assert "UTF-8 text: byte 4" in failing(capsys, "embeddings", main, "search", folder, text, "wind")
    text.write_text("wind\n" + "rain " * 100)
    assert "line 2 has 102 tokens, the model takes 64" in failing(capsys, "embeddings", main, "search", folder, text, "wind")
    assert "ends in .npy or .safetensors" in failing(capsys, "embeddings", main, "embed", folder, text, "-o", tmp_path / "out.txt")
    main(["search", str(folder), str(text), "rain", "--truncate"])


def test_as_a_process(folder, text):
    command = [sys.executable, "-m", "embeddings", "search", str(folder), str(text)]
    paths = os.pathsep.join(filter(None, [str(EXAMPLES.parents[1] / "python"), os.environ.get("PYTHONPATH")]))
    start = dict(cwd=EXAMPLES, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    good = subprocess.run([*command, LINES[1], "-k", "1"], **start)
    assert (good.returncode, good.stdout) == (0, f"1.0000  {LINES[1]}\n")
    bad = subprocess.run([*command, "rain " * 100], **start)
    assert bad.returncode == 2 and bad.stderr.startswith("embeddings: the query has 102 tokens") and "Traceback" not in bad.stderr


def test_known_kinds():
    assert set(pooling.KINDS) == set(pooling.SWITCHES.values())
    assert bert.todays_name("bert.embeddings.LayerNorm.gamma") == "embeddings.LayerNorm.weight"
