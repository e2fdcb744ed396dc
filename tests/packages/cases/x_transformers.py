"""x-transformers: transformers with the variations of many papers."""

import models
import torch
import x_transformers
from x_transformers import AutoregressiveWrapper, ContinuousTransformerWrapper, CrossAttender, Decoder, Encoder, TransformerWrapper, ViTransformerWrapper

PACKAGE = "x-transformers"


def _tokens(name="tokens"):
    return models.integers(50, models.BATCH, 12, name=name)


def _language(layers=Decoder, wrap=None, **options):
    """A language model with options of its layers, and options of the wrapper in `wrap`."""
    build = lambda: TransformerWrapper(num_tokens=50, max_seq_len=16, attn_layers=layers(dim=32, depth=2, heads=4, attn_dim_head=8, **options), **(wrap or {}))
    return lambda: models.passes(build(), _tokens())


def _masked():
    mask = torch.ones(models.BATCH, 12, dtype=torch.bool)
    mask[1, 7:] = False
    model = TransformerWrapper(num_tokens=50, max_seq_len=16, attn_layers=Encoder(dim=32, depth=2, heads=4, attn_dim_head=8))
    return models.passes(model, _tokens(), mask=mask)


def _images():
    model = ViTransformerWrapper(image_size=16, patch_size=4, num_classes=5, attn_layers=Encoder(dim=32, depth=2, heads=4, attn_dim_head=8))
    return models.passes(model, models.normal(models.BATCH, 3, 16, 16))


def _continuous():
    model = ContinuousTransformerWrapper(dim_in=6, dim_out=4, max_seq_len=16, attn_layers=Encoder(dim=32, depth=2, heads=4, attn_dim_head=8))
    return models.passes(model, models.normal(models.BATCH, 12, 6))


def _crossed():
    model = CrossAttender(dim=32, depth=2, heads=4, attn_dim_head=8)
    return models.passes(model, models.normal(models.BATCH, 5, 32), context=models.normal(models.BATCH, 9, 32, name="context"))


def _translated():
    model = x_transformers.XTransformer(
        dim=32, enc_num_tokens=50, enc_depth=2, enc_heads=4, enc_max_seq_len=16, enc_attn_dim_head=8,
        dec_num_tokens=50, dec_depth=2, dec_heads=4, dec_max_seq_len=16, dec_attn_dim_head=8,
    )  # fmt: skip
    return models.passes(model, _tokens(), _tokens("target"), mask=torch.ones(models.BATCH, 12, dtype=torch.bool))


def _trained():
    """Three steps of training, then a greedy continuation."""
    net = TransformerWrapper(num_tokens=50, max_seq_len=24, attn_layers=Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, rotary_pos_emb=True))
    model = AutoregressiveWrapper(models.filled(net))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = model(_tokens())
        losses.append(loss)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    return models.arrays([*losses, model.generate(_tokens()[:, :4], 8, temperature=0.0)])


CASES = {
    "decoder": _language(),
    "encoder with a mask": _masked,
    "rotary positions": _language(rotary_pos_emb=True),
    "ALiBi": _language(alibi_pos_bias=True),
    "T5's relative positions": _language(rel_pos_bias=True),
    "dynamic positions": _language(dynamic_pos_bias=True),
    "RMSNorm, gated units, no bias": _language(use_rmsnorm=True, ff_glu=True, ff_swish=True, ff_no_bias=True),
    "one head of keys, normalized": _language(attn_one_kv_head=True, attn_qk_norm=True),
    "grouped heads": _language(attn_kv_heads=2),
    "memory tokens, talking heads": _language(Encoder, {"num_memory_tokens": 3}, attn_pre_talking_heads=True, attn_post_talking_heads=True),
    "top keys": _language(attn_sparse_topk=4),
    "flash": _language(attn_flash=True),
    "residual gates": _language(gate_residual=True, shift_tokens=1),
    "ViT": _images,
    "continuous": _continuous,
    "cross attention": _crossed,
    "encoder and decoder": _translated,
    "attention alone": lambda: models.passes(
        x_transformers.Attention(dim=32, heads=4, dim_head=8, qk_norm=True), models.normal(2, 7, 32), pick=lambda out: out[0]
    ),
    "training and generation": _trained,
}
