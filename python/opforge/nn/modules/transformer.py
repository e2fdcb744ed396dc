"""Attention and transformers (Vaswani et al., 2017)."""

from __future__ import annotations

import copy
import inspect
import math

from ... import _core as _C
from ..._calls.tracing import is_compiling
from ...amp.autocast_mode import is_autocast_enabled
from ...backends.mha import get_fastpath_enabled
from .. import functional as F
from .. import init
from ..attention.multihead import additive_mask, multi_head_attention_forward
from ..parameter import Parameter
from .activation import GELU, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear, NonDynamicallyQuantizableLinear
from .module import Module
from .normalization import LayerNorm


class MultiheadAttention(Module):
    """`softmax(Q Kᵀ / sqrt(d)) V` in `num_heads` heads, each of its own projections: `(L, N, E)`, or `(N, L, E)` if `batch_first`.

    >>> attention = opforge.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = opforge.randn(3, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    def __init__(
        self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
        batch_first=False, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads

        def parameter(*shape):
            return Parameter(_C.empty(shape, device=device, dtype=dtype))

        same = self._qkv_same_embed_dim
        self.register_parameter("in_proj_weight", parameter(3 * embed_dim, embed_dim) if same else None)
        for name, dim in ("q_proj_weight", embed_dim), ("k_proj_weight", self.kdim), ("v_proj_weight", self.vdim):
            self.register_parameter(name, None if same else parameter(embed_dim, dim))
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False
    ):
        """The output and the attention weights: see `nn.functional.multi_head_attention_forward`."""
        transposed = self.batch_first and query.dim() == 3
        if transposed:
            same = query is key and key is value
            query = query.transpose(0, 1)
            key, value = (query, query) if same else (key.transpose(0, 1), value.transpose(0, 1))
        output, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(0, 1) if transposed else output, weights


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


_get_activation_fn = _activation  # packages have it under PyTorch's name


def _causal_mask(size, device=None, dtype=None):
    return _C.full((size, size), -math.inf, dtype=dtype, device=device).triu(1)


def _is_causal(mask, is_causal, length):
    """What `is_causal` says, or, if it is None, whether `mask` is the causal mask."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    if tuple(mask.shape) != (length, length):
        return False
    allowed = mask.logical_not() if mask.dtype == _C.bool else mask == 0
    forbidden = mask if mask.dtype == _C.bool else mask == -math.inf
    causal = _C.ones((length, length), dtype=_C.bool, device=mask.device).triu(1)
    return bool(_C.where(causal, forbidden, allowed).all())


def _length(x, batch_first):
    return x.size(1 if batch_first and x.dim() == 3 else 0)


class _Layer(Module):
    """What encoder and decoder layers share: attention to themselves and a network of two linear maps, each around a residual."""

    def __init__(
        self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
        norm_first=False, bias=True, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        norm = {"eps": layer_norm_eps, "bias": bias, **factory}
        decoder = isinstance(self, TransformerDecoderLayer)
        # In PyTorch's order, which is that of the state_dict.
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory)
        if decoder:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **factory)
        self.norm_first = norm_first
        parts = 3 if decoder else 2
        for i in range(1, parts + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, **norm))
        for i in range(1, parts + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attend(self, attention, x, memory, mask, key_padding_mask, is_causal):
        return attention(
            x, memory, memory, attn_mask=mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )[0]

    # The branches, dropout included, under PyTorch's names: subclasses replace them.
    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self._attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal))

    def _ff_block(self, x):
        last = self.dropout3 if isinstance(self, TransformerDecoderLayer) else self.dropout2
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _residual(self, x, norm, branch):
        """`x + branch(norm(x))`, or with the norm last."""
        return x + branch(norm(x)) if self.norm_first else norm(x + branch(x))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network; `norm_first` normalizes before each of them rather than after."""

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype)
        mask = additive_mask(src_mask, "src_mask", src.dtype)
        x = self._residual(src, self.norm1, lambda x: self._sa_block(x, mask, padding, is_causal=is_causal))
        return self._residual(x, self.norm2, self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to `memory`, and a feed-forward network."""

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(self._attend(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal))

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
        tgt_is_causal=False, memory_is_causal=False,
    ):  # fmt: skip
        def attend_self(x):
            return self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def attend_memory(x):
            return self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)

        x = self._residual(tgt, self.norm1, attend_self)
        x = self._residual(x, self.norm2, attend_memory)
        return self._residual(x, self.norm3, self._ff_block)


def _clones(layer, count):
    return ModuleList(copy.deepcopy(layer) for _ in range(count))


_get_clones = _clones  # packages have it under PyTorch's name


def _may_skip_padding(layer):
    """Whether PyTorch has a kernel for this layer that leaves padding out."""
    if not isinstance(layer, TransformerEncoderLayer) or layer.norm_first:
        return False
    attention, activation = layer.self_attn, layer.activation
    fits = attention.batch_first and attention.in_proj_bias is not None and attention.num_heads % 2 == 0 and layer.norm1.eps == layer.norm2.eps
    # Unwrapped, as programs of PyTorch's find functions of `nn.functional` that take attributes.
    plain = isinstance(activation, (ReLU, GELU)) or inspect.unwrap(activation) in (inspect.unwrap(F.relu), inspect.unwrap(F.gelu))
    return fits and plain


def _is_at_the_ends(padding):
    """Whether nothing follows what is padded, in each row of a truth value for each position."""
    return not bool((padding[:, :-1] & padding[:, 1:].logical_not()).any())


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer, and a last `norm` if given.

    With `enable_nested_tensor` the layers give 0 at padded positions where PyTorch computes nothing there: in evaluation without gradients, of batches
    that are padded at their ends (`mask_check=False` takes that for granted), for layers with `batch_first`, a bias, an even number of heads,
    relu or gelu, and the norm last.
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor and _may_skip_padding(encoder_layer)
        self.mask_check = mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype)
        mask = additive_mask(mask, "mask", src.dtype)
        skipped = padding.to(_C.bool) if self._skips_padding(src, mask, padding) else None
        is_causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if skipped is not None:
            src = src.masked_fill(skipped.unsqueeze(-1), 0.0)
        return src if self.norm is None else self.norm(src)

    def _skips_padding(self, src, mask, padding):
        first = self.layers[0]
        if padding is None or mask is not None or not self.use_nested_tensor or first.training or src.dim() != 3:
            return False
        if src.device.type not in ("cpu", "cuda", "xpu") or not get_fastpath_enabled() or is_autocast_enabled():
            return False
        if _C.is_grad_enabled() and any(tensor.requires_grad for tensor in (src, *first.parameters())):
            return False
        return not self.mask_check or (not is_compiling() and _is_at_the_ends(padding.to(_C.bool)))


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer, and a last `norm` if given."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
        tgt_is_causal=None, memory_is_causal=False,
    ):  # fmt: skip
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of `src` and a decoder of `tgt` that attends to it."""

    def __init__(
        self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation=F.relu,
        custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None,
        dtype=None,
    ):  # fmt: skip
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*layer, **factory), num_encoder_layers, norm())
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*layer, **factory), num_decoder_layers, norm())
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The causal mask: minus infinity above the diagonal, zero elsewhere."""
        return _causal_mask(sz, device, dtype)

    def forward(
        self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
        memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, memory_is_causal=False,
    ):  # fmt: skip
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip
