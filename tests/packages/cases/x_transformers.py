"""x-transformers: transformers of many kinds."""

import models
from x_transformers import Attention, AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper, ViTransformerWrapper, XTransformer

PACKAGE = "x-transformers"


def _tokens(high=50):
    return models.integers(high, models.BATCH, 12)


def _decoder(**options):
    network = TransformerWrapper(num_tokens=50, max_seq_len=16, attn_layers=Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options))
    return lambda: models.passes(network, _tokens())


def _autoregressive():
    network = AutoregressiveWrapper(TransformerWrapper(num_tokens=50, max_seq_len=16, attn_layers=Decoder(dim=32, depth=2, heads=4, attn_dim_head=8)))
    return models.passes(network, _tokens())


def _image():
    network = ViTransformerWrapper(image_size=32, patch_size=8, num_classes=5, attn_layers=Encoder(dim=32, depth=2, heads=4, attn_dim_head=8))
    return models.passes(network, models.normal(models.BATCH, 3, 32, 32))


def _both():
    network = XTransformer(
        dim=32, enc_num_tokens=50, enc_depth=1, enc_heads=4, enc_max_seq_len=16, dec_num_tokens=50, dec_depth=1, dec_heads=4, dec_max_seq_len=16,
        tie_token_emb=True, enc_attn_dim_head=8, dec_attn_dim_head=8,
    )  # fmt: skip
    return models.passes(network, _tokens(), _tokens())


CASES = {
    "decoder": lambda: _decoder()(),
    "rotary positions": lambda: _decoder(rotary_pos_emb=True)(),
    "alibi, RMS norms, gated": lambda: _decoder(alibi_pos_bias=True, use_rmsnorm=True, ff_glu=True)(),
    "relative positions, grouped queries": lambda: _decoder(rel_pos_bias=True, attn_kv_heads=2)(),
    "autoregressive": _autoregressive,
    "images": _image,
    "encoder and decoder": _both,
    "attention": lambda: models.passes(Attention(dim=32, heads=4, dim_head=8, qk_norm=True), models.normal(2, 7, 32), pick=lambda out: out[0]),
}
