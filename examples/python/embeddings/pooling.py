"""From vectors of tokens to one of the sentence, as the files of sentence-transformers say.

`modules.json` lists the steps, `1_Pooling/config.json` names the kind of pooling, `sentence_bert_config.json` the most tokens. Without them: the mean, normalised.
"""

import dataclasses
import math
import pathlib

from common.command import UserError
from common.folder import read_json, settings
from opforge.nn import functional as F


def mean(x, mask):
    return x.sum(1) / x.shape[1] if mask is None else (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)


def cls(x, mask):
    return x[:, 0]


def largest(x, mask):
    return (x if mask is None else x.masked_fill(~mask[:, :, None], float("-inf"))).amax(1)


KINDS = {"mean": mean, "cls": cls, "max": largest}
# The switches of `1_Pooling/config.json`; newer files say `"pooling_mode": "mean"`.
SWITCHES = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max"}


@dataclasses.dataclass(frozen=True)
class Pooling:
    """What makes a sentence's vector: `kind` of KINDS, and whether it is scaled to length 1."""

    kind: str = "mean"
    normalize: bool = True

    def __call__(self, x, mask):
        """x `[batch, tokens, width]` and its mask `[batch, tokens]`, None if all is true, give `[batch, width]`, in f32."""
        vectors = KINDS[self.kind](x.float(), mask)
        return F.normalize(vectors, dim=1) if self.normalize else vectors


@dataclasses.dataclass(frozen=True)
class Text:
    """How text is read. The most tokens are `max_seq_length` or, where newer files do not have it, the tokenizer's `model_max_length`."""

    max_seq_length: int | None = None
    model_max_length: int | float = math.inf
    do_lower_case: bool = False

    @property
    def max_tokens(self):
        return self.model_max_length if self.max_seq_length is None else self.max_seq_length


def read_pooling(folder):
    """What `modules.json` lists after the transformer."""
    path = pathlib.Path(folder) / "modules.json"
    if not path.exists():
        return Pooling(_kind(pathlib.Path(folder) / "1_Pooling" / "config.json"))
    kind, normalize = "mean", False
    for module in read_json(path, list):
        name, place = str(module.get("type", "")).rpartition(".")[2], module.get("path", "")
        if name == "Pooling":
            kind = _kind(path.parent / place / "config.json")
        elif name == "Normalize":
            normalize = True
        elif name != "Transformer" or place not in ("", "."):
            raise UserError(f"{path}: the module {name!r} at {place!r} is not known; known are Transformer in the folder itself, Pooling and Normalize")
    return Pooling(kind, normalize)


def _kind(path):
    if not path.exists():
        return "mean"
    values = read_json(path)
    on = [SWITCHES.get(name, name) for name, value in values.items() if name.startswith("pooling_mode_") and value]
    kinds = on or [values.get("pooling_mode", "mean")]
    if len(kinds) > 1 or kinds[0] not in KINDS:
        raise UserError(f"{path}: the pooling {' + '.join(map(str, kinds))} is not known; known are {', '.join(KINDS)}")
    return kinds[0]


def read_text_settings(folder):
    """What `tokenizer_config.json` and `sentence_bert_config.json` say, if they are there."""
    values = {}
    for name, fields in (("tokenizer_config.json", ["model_max_length"]), ("sentence_bert_config.json", ["max_seq_length", "do_lower_case"])):
        path = pathlib.Path(folder) / name
        if path.exists():
            stored = read_json(path)
            values |= {field: stored.get(field) for field in fields}
    return settings(Text, values, path)
