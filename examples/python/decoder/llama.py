"""Llama (Touvron and others, 2023; 3.x: Grattafiori and others, 2024). Modules and weights have the names of Hugging Face's `LlamaForCausalLM`."""

import dataclasses

import opforge as torch
from common.command import UserError
from common.folder import fill, read_config, read_weights
from opforge import nn
from opforge.nn import functional as F

from . import rope


@dataclasses.dataclass(frozen=True)
class Config:
    """What of `config.json` decides values."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    rope_scaling: dict | None = None
    rope_parameters: dict | None = None  # Newer files have both of these in here.
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    hidden_act: str = "silu"
    eos_token_id: int | list | None = None

    @property
    def width(self):
        """Of a head."""
        return self.head_dim or self.hidden_size // self.num_attention_heads

    @property
    def key_value_heads(self):
        return self.num_key_value_heads or self.num_attention_heads

    @property
    def group(self):
        """How many heads of queries share one of keys and values."""
        return self.num_attention_heads // self.key_value_heads

    def frequencies(self):
        scaling = self.rope_parameters or self.rope_scaling or {}
        return rope.frequencies(self.width, scaling.get("rope_theta", self.rope_theta), scaling)

    def check(self):
        if self.hidden_act != "silu":
            raise UserError(f"config.json: 'hidden_act' is {self.hidden_act!r}; only 'silu' is known")
        heads, theirs = self.num_attention_heads, self.key_value_heads
        if heads < 1 or theirs < 1 or heads % theirs:
            raise UserError(f"config.json: {heads} heads are no multiple of {theirs} heads of keys and values")
        if self.width < 2 or self.width % 2:
            raise UserError(f"config.json: heads are {self.width} wide, which is not even")


class Attention(nn.Module):
    """Tokens gather from those before them; several heads of queries share one of keys and values."""

    def __init__(self, config, layer):
        super().__init__()
        self.layer, self.width, self.group = layer, config.width, config.group
        queries, keys = config.num_attention_heads * config.width, config.key_value_heads * config.width
        self.q_proj = nn.Linear(config.hidden_size, queries, bias=config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, keys, bias=config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, keys, bias=config.attention_bias)
        self.o_proj = nn.Linear(queries, config.hidden_size, bias=config.attention_bias)

    def forward(self, x, turns, mask, cache):
        # [batch, tokens, width] to [batch, heads, tokens, width of a head] and back.
        query, key, value = (project(x).unflatten(-1, (-1, self.width)).transpose(1, 2) for project in (self.q_proj, self.k_proj, self.v_proj))
        query, key = rope.rotate(query, *turns), rope.rotate(key, *turns)
        if cache is not None:
            key, value = cache.extend(self.layer, key, value)
        # Heads that share keys and values are rows of one product, [batch, shared heads, group * tokens, width]: faster than `enable_gqa` for a single token.
        rows = query.unflatten(1, (-1, self.group)).flatten(2, 3)
        y = F.scaled_dot_product_attention(rows, key, value, mask).unflatten(2, (self.group, -1)).flatten(1, 2)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Two linear layers with a gate (Shazeer, 2020)."""

    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=config.mlp_bias)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=config.mlp_bias)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=config.mlp_bias)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention, then the feed-forward network; each adds to what went in."""

    def __init__(self, config, layer):
        super().__init__()
        self.self_attn, self.mlp = Attention(config, layer), FeedForward(config)
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, x, turns, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), turns, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """ids `[batch, tokens]` in, `[batch, tokens, width]` out. With a cache the tokens follow those that it holds."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config, layer) for layer in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, ids, cache=None):
        start, count = cache.length if cache else 0, ids.shape[1]
        x = self.embed_tokens(ids)
        turns = rope.turns(self.config.frequencies(), start, count, x.dtype)
        # A token sees itself and those before it, in each head of a group; a single one sees all that there are.
        mask = None if count == 1 else torch.ones(count, start + count, dtype=torch.bool).tril(start).repeat(self.config.group, 1)
        for layer in self.layers:
            x = layer(x, turns, mask, cache)
        if cache is not None:
            cache.advance(count)
        return self.norm(x)


class Llama(nn.Module):
    """ids `[batch, tokens]` in, logits of the tokens that follow out: `[batch, tokens, vocabulary]`, or of the last one, `[batch, vocabulary]`, with `last`."""

    def __init__(self, config):
        super().__init__()
        self.model = Decoder(config)
        self.lm_head = None if config.tie_word_embeddings else nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, ids, cache=None, last=False):
        x = self.model(ids, cache)
        x = x[:, -1] if last else x
        return F.linear(x, self.model.embed_tokens.weight) if self.lm_head is None else self.lm_head(x)


def load(folder, dtype=torch.float32):
    """The model of a folder, ready for inference, and its configuration."""
    config = read_config(folder, Config, "llama")
    config.check()
    config.frequencies()  # Its errors come before the weights are read.
    weights, path = read_weights(folder)
    with torch.device("meta"):
        model = Llama(config)
    return fill(model, weights, path, dtype).eval(), config
