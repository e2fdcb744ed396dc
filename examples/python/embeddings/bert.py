"""BERT's encoder (Devlin and others, 2018): token ids in, a vector a token out. Modules and weights have the names of Hugging Face's `BertModel`."""

import dataclasses

import opforge as torch
from common.command import UserError
from common.folder import fill, read_config, read_weights
from opforge import nn
from opforge.nn import functional as F

ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_pytorch_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "silu": F.silu,
}


@dataclasses.dataclass(frozen=True)
class Config:
    """What of `config.json` decides values."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int = 2
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    layer_norm_eps: float = 1e-12
    position_embedding_type: str = "absolute"

    def check(self):
        if self.hidden_act not in ACTIVATIONS:
            raise UserError(f"config.json: 'hidden_act' is {self.hidden_act!r}; known are {', '.join(ACTIVATIONS)}")
        if self.position_embedding_type != "absolute":
            raise UserError(f"config.json: 'position_embedding_type' is {self.position_embedding_type!r}; only 'absolute' is known")
        if self.num_attention_heads < 1 or self.hidden_size % self.num_attention_heads:
            raise UserError(f"config.json: 'hidden_size' {self.hidden_size} is no multiple of {self.num_attention_heads} heads")


class Embeddings(nn.Module):
    """The sum of what a token is, where it stands and which segment it is of, normalised."""

    def __init__(self, config):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, ids):
        # All is of the first segment: sentences come alone.
        places = self.position_embeddings.weight[: ids.shape[1]] + self.token_type_embeddings.weight[0]
        return self.dropout(self.LayerNorm(self.word_embeddings(ids) + places))


class SelfAttention(nn.Module):
    """Each token gathers what others hold, weighted by how its query goes with their keys."""

    def __init__(self, config):
        super().__init__()
        self.heads, self.dropout = config.num_attention_heads, config.attention_probs_dropout_prob
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def forward(self, x, mask):
        # [batch, tokens, width] to [batch, heads, tokens, width / heads] and back.
        query, key, value = (linear(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for linear in (self.query, self.key, self.value))
        dropout = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(query, key, value, mask, dropout).transpose(1, 2).flatten(2)


class Output(nn.Module):
    """The end of a block: back to the model's width, added to what went in, normalised."""

    def __init__(self, config, width):
        super().__init__()
        self.dense = nn.Linear(width, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x, before):
        return self.LayerNorm(before + self.dropout(self.dense(x)))


class Layer(nn.Module):
    """Attention between tokens, then two linear layers for each token."""

    def __init__(self, config):
        super().__init__()
        self.attention = nn.ModuleDict({"self": SelfAttention(config), "output": Output(config, config.hidden_size)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.intermediate_size)})
        self.output = Output(config, config.intermediate_size)
        self.activation = ACTIVATIONS[config.hidden_act]

    def forward(self, x, mask):
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(self.activation(self.intermediate["dense"](x)), x)


class Bert(nn.Module):
    """ids `[batch, tokens]` in, `[batch, tokens, width]` out. `mask`, `[batch, tokens]`, is false where a row is padded; None if none is."""

    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))})

    def forward(self, ids, mask=None):
        seen = None if mask is None else mask[:, None, None, :]
        x = self.embeddings(ids)
        for layer in self.encoder["layer"]:
            x = layer(x, seen)
        return x


def todays_name(name):
    """A weight's name without the prefix that models with a head give it, and with today's names of LayerNorm's."""
    name = name.removeprefix("bert.")
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def load(folder, dtype=torch.float32):
    """The model of a folder, ready for inference, and its configuration."""
    config = read_config(folder, Config, "bert")
    config.check()
    weights, path = read_weights(folder)
    with torch.device("meta"):
        model = Bert(config)
    return fill(model, {todays_name(name): tensor for name, tensor in weights.items()}, path, dtype).eval(), config
