"""A model's folder as Hugging Face lays it out: `config.json`, `model.safetensors` (or shards and their index), `tokenizer.json`."""

import dataclasses
import json
import pathlib
import types
import typing

import opforge as torch

from .command import UserError

WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"


def read_json(path, kind=dict):
    """What a JSON file holds, a dict or a list."""
    try:
        value = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, kind):
        raise UserError(f"{path} holds no {kind.__name__}")
    return value


def settings(kind, values, path):
    """The dataclass `kind` with those of `values` that are its fields; null means the same as no entry."""
    given = {}
    for field in dataclasses.fields(kind):
        value = values.get(field.name)
        if value is not None:
            given[field.name] = _checked(value, field, path)
        elif field.default is dataclasses.MISSING:
            raise UserError(f"{path} has no {field.name!r}")
    return kind(**given)


def _checked(value, field, path):
    union = isinstance(field.type, types.UnionType)
    accepted = tuple(t for t in typing.get_args(field.type) if t is not types.NoneType) if union else (field.type,)
    if type(value) is int and float in accepted and int not in accepted:
        return float(value)
    if type(value) not in accepted:
        raise UserError(f"{path}: {field.name!r} is {value!r}, but should be {' or '.join(t.__name__ for t in accepted)}")
    return value


def read_config(folder, kind, model_type):
    """The settings in `config.json`, which must be of a model of this type."""
    path = pathlib.Path(folder) / "config.json"
    if not pathlib.Path(folder).is_dir():
        raise UserError(f"{folder} is not a folder")
    values = read_json(path)
    if values.get("model_type", model_type) != model_type:
        raise UserError(f"{path}: 'model_type' is {values['model_type']!r}; this program reads {model_type!r}")
    return settings(kind, values, path)


def read_tokenizer(folder):
    """The tokenizer, without the padding and truncation that `tokenizer.json` may ask for: the programs see to these."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UserError("the package `tokenizers` is missing: pip install tokenizers") from None

    path = pathlib.Path(folder) / "tokenizer.json"
    data = path.read_bytes()
    try:
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # The package raises nothing more special.
        raise UserError(f"{path} is not a tokenizer: {error}") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def read_weights(folder):
    """All tensors of the folder by name, of one file or of its shards, and the path that stands for them in errors."""
    folder = pathlib.Path(folder)
    if not (folder / SHARDS).exists() or (folder / WEIGHTS).exists():
        return _tensors(folder / WEIGHTS), folder / WEIGHTS
    places = read_json(folder / SHARDS).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise UserError(f"{folder / SHARDS} has no 'weight_map' of file names")
    weights = {}
    for name in sorted(set(places.values())):
        weights |= _tensors(folder / name)
    return weights, folder / SHARDS


def _tensors(path):
    try:
        return torch.load(path)
    except torch.FormatError as error:
        raise UserError(f"{path}: {error}") from None


def fill(module, weights, path, dtype=torch.float32):
    """Gives a module on the meta device its weights, in `dtype`. Every name of its state must be there, in its shape; others are left alone."""
    state = {}
    for name, expected in module.state_dict().items():
        if name not in weights:
            raise UserError(f"{path} has no weight {name!r}")
        if not weights[name].is_floating_point():
            raise UserError(f"{path}: {name!r} is of {weights[name].dtype}; weights are floats")
        if weights[name].shape != expected.shape:
            raise UserError(f"{path}: {name!r} is of shape {list(weights[name].shape)}, config.json asks for {list(expected.shape)}")
        state[name] = weights[name].to(dtype)
    module.load_state_dict(state, assign=True)
    return module
