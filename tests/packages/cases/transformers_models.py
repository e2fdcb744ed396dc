"""transformers: further architectures of small random sizes, their outputs and the gradients of all parameters."""

import models
import torch
import transformers as t

PACKAGE = "transformers"
_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}
_TEXT = {**_SMALL, "vocab_size": 99, "max_position_embeddings": 64}
_DECODER = {**_TEXT, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_GROUPED = {**_DECODER, "num_key_value_heads": 2}
_IMAGE = {**_SMALL, "image_size": 32, "patch_size": 8, "num_labels": 5}
_HEADS = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
_SEQUENCES = {**_HEADS, "vocab_size": 99, "encoder_ffn_dim": 37, "decoder_ffn_dim": 37, "max_position_embeddings": 64}


def _tokens(length=9, name="tokens"):
    return models.integers(90, models.BATCH, length, name=name) + 5


def _mask(length=9):
    mask = torch.ones(models.BATCH, length, dtype=torch.int64)
    mask[1, -3:] = 0
    return mask


def _results(out):
    """The tensors of an output that are not a cache or hidden states."""
    keep = ("loss", "logits", "last_hidden_state", "pooler_output", "pred_masks", "iou_scores", "pred_boxes", "predicted_depth", "logits_per_image")
    return {name: out[name] for name in keep if name in out and out[name] is not None}


def _text(model, config, labels=True, **options):
    """A model of texts, with labels the model's own loss."""

    def run():
        given = {"labels": _tokens(name="labels")} if labels else {}
        return models.passes(model(config(**options)), _tokens(), attention_mask=_mask(), pick=_results, **given)

    return run


def _images(model, config, size=32, channels=3, **options):
    return lambda: models.passes(model(config(**options)), models.normal(models.BATCH, channels, size, size), pick=_results)


def _waves(model, config, **options):
    return lambda: models.passes(model(config(**options)), models.normal(models.BATCH, 800), pick=_results)


def _masks():
    vision = t.SamVisionConfig(
        hidden_size=32, output_channels=16, num_hidden_layers=2, num_attention_heads=2, image_size=64, patch_size=8, mlp_dim=48, window_size=4,
        global_attn_indexes=[1], num_pos_feats=8,
    )  # fmt: skip
    prompt = t.SamPromptEncoderConfig(hidden_size=16, image_size=64, patch_size=8, mask_input_channels=4)
    decoder = t.SamMaskDecoderConfig(hidden_size=16, mlp_dim=24, num_attention_heads=2, attention_downsample_rate=2, iou_head_hidden_dim=16)
    model = t.SamModel(t.SamConfig(vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder))
    points = models.uniform(models.BATCH, 1, 2, 2, name="points") * 64
    return models.passes(model, models.normal(models.BATCH, 3, 64, 64), input_points=points, pick=_results)


def _series():
    config = t.PatchTSTConfig(
        num_input_channels=3, context_length=32, patch_length=8, patch_stride=8, d_model=16, num_attention_heads=2, num_hidden_layers=2, ffn_dim=24,
        prediction_length=6,
    )  # fmt: skip
    model = t.PatchTSTForPrediction(config)
    return models.passes(model, models.normal(models.BATCH, 32, 3), pick=lambda out: out.prediction_outputs)


def _boxes():
    backbone = t.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"])
    config = t.DetrConfig(
        backbone_config=backbone, use_timm_backbone=False, use_pretrained_backbone=False, num_queries=5, num_labels=4, d_model=32, encoder_layers=1,
        decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24,
    )  # fmt: skip
    return models.passes(t.DetrForObjectDetection(config), models.normal(models.BATCH, 3, 64, 64), pick=_results)


def _siglip():
    text = {**_SMALL, "vocab_size": 99, "max_position_embeddings": 16}
    model = t.SiglipModel(t.SiglipConfig(text_config=text, vision_config={**_SMALL, "image_size": 32, "patch_size": 8}))
    return models.passes(model, _tokens(), models.normal(models.BATCH, 3, 32, 32), return_loss=True, pick=_results)


_HIDDEN = {"hidden_sizes": [8, 16], "depths": [1, 1], "num_labels": 5}
_MAMBA = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "pad_token_id": 0, "eos_token_id": 2}
_EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
_CONVOLUTIONS = {"conv_dim": [16, 16], "conv_kernel": [10, 3], "conv_stride": [5, 2], "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8}
_AUDIO = {**_SMALL, **_CONVOLUTIONS, "vocab_size": 12, "num_conv_pos_embedding_groups": 2, "apply_spec_augment": False}

CASES = {
    "RoBERTa": _text(t.RobertaForMaskedLM, t.RobertaConfig, **_TEXT),
    "ALBERT": _text(t.AlbertForMaskedLM, t.AlbertConfig, embedding_size=16, **_TEXT),
    "ELECTRA": _text(t.ElectraForMaskedLM, t.ElectraConfig, embedding_size=16, **_TEXT),
    "DeBERTa": _text(
        t.DebertaV2ForMaskedLM, t.DebertaV2Config, relative_attention=True, position_buckets=8, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm",
        share_att_key=True, **_TEXT,
    ),
    "ModernBERT": _text(t.ModernBertForMaskedLM, t.ModernBertConfig, local_attention=4, cls_token_id=1, sep_token_id=2, **_DECODER),
    "MPNet": _text(t.MPNetForMaskedLM, t.MPNetConfig, **_TEXT),
    "Longformer": _text(t.LongformerForMaskedLM, t.LongformerConfig, attention_window=4, pad_token_id=1, **_TEXT),
    "Funnel": _text(t.FunnelModel, t.FunnelConfig, False, vocab_size=99, d_model=32, n_head=4, d_head=8, d_inner=37, block_sizes=[1, 1], num_decoder_layers=1),
    "XLNet": _text(t.XLNetLMHeadModel, t.XLNetConfig, False, vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=37),
    "BART": _text(t.BartForConditionalGeneration, t.BartConfig, **_SEQUENCES),
    "Pegasus": _text(t.PegasusForConditionalGeneration, t.PegasusConfig, **_SEQUENCES),
    "OPT": _text(t.OPTForCausalLM, t.OPTConfig, ffn_dim=37, word_embed_proj_dim=32, **_DECODER),
    "Bloom": _text(t.BloomForCausalLM, t.BloomConfig, vocab_size=99, hidden_size=32, n_layer=2, n_head=4),
    "GPT-NeoX": _text(t.GPTNeoXForCausalLM, t.GPTNeoXConfig, **_DECODER),
    "Falcon": _text(t.FalconForCausalLM, t.FalconConfig, **_DECODER),
    "Qwen2": _text(t.Qwen2ForCausalLM, t.Qwen2Config, **_GROUPED),
    "Qwen3": _text(t.Qwen3ForCausalLM, t.Qwen3Config, head_dim=8, **_GROUPED),
    "Gemma": _text(t.GemmaForCausalLM, t.GemmaConfig, head_dim=8, **_GROUPED),
    "Gemma 2": _text(t.Gemma2ForCausalLM, t.Gemma2Config, head_dim=8, sliding_window=4, query_pre_attn_scalar=8, **_GROUPED),
    "Phi": _text(t.PhiForCausalLM, t.PhiConfig, **_DECODER),
    "Phi-3": _text(t.Phi3ForCausalLM, t.Phi3Config, **_GROUPED),
    "OLMo 2": _text(t.Olmo2ForCausalLM, t.Olmo2Config, **_GROUPED),
    "Cohere": _text(t.CohereForCausalLM, t.CohereConfig, **_GROUPED),
    "StableLM": _text(t.StableLmForCausalLM, t.StableLmConfig, **_GROUPED),
    "Mixtral": _text(t.MixtralForCausalLM, t.MixtralConfig, **_EXPERTS, **{**_GROUPED, "intermediate_size": 40}),
    "Qwen2, experts": _text(
        t.Qwen2MoeForCausalLM, t.Qwen2MoeConfig, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=24, **_GROUPED
    ),
    "Mamba": _text(t.MambaForCausalLM, t.MambaConfig, state_size=4, **_MAMBA),
    "Mamba 2": _text(t.Mamba2ForCausalLM, t.Mamba2Config, state_size=4, num_heads=4, head_dim=16, n_groups=1, chunk_size=4, **_MAMBA),
    "ESM": _text(t.EsmForMaskedLM, t.EsmConfig, pad_token_id=1, mask_token_id=3, position_embedding_type="rotary", **_TEXT),
    "Swin": _images(
        t.SwinForImageClassification, t.SwinConfig, image_size=32, patch_size=4, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4, num_labels=5
    ),
    "Swin V2": _images(
        t.Swinv2ForImageClassification, t.Swinv2Config, image_size=32, patch_size=4, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4, num_labels=5
    ),
    "BEiT": _images(t.BeitForImageClassification, t.BeitConfig, use_relative_position_bias=True, **_IMAGE),
    "DeiT": _images(t.DeiTForImageClassification, t.DeiTConfig, **_IMAGE),
    "DINOv2": _images(t.Dinov2ForImageClassification, t.Dinov2Config, **_IMAGE),
    "ConvNeXt": _images(t.ConvNextForImageClassification, t.ConvNextConfig, num_stages=2, **_HIDDEN),
    "ConvNeXt V2": _images(t.ConvNextV2ForImageClassification, t.ConvNextV2Config, num_stages=2, **_HIDDEN),
    "ResNet": _images(t.ResNetForImageClassification, t.ResNetConfig, embedding_size=8, **_HIDDEN),
    "RegNet": _images(t.RegNetForImageClassification, t.RegNetConfig, embedding_size=8, groups_width=4, **_HIDDEN),
    "SegFormer": _images(
        t.SegformerForSemanticSegmentation, t.SegformerConfig, num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16],
        patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16, num_labels=5,
    ),
    "MobileViT": _images(
        t.MobileViTForImageClassification, t.MobileViTConfig, image_size=64, patch_size=2, hidden_sizes=[16, 24, 32],
        neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32], num_attention_heads=2, num_labels=5, size=64,
    ),
    "DETR": _boxes,
    "SAM": _masks,
    "SigLIP": _siglip,
    "wav2vec 2": _waves(t.Wav2Vec2ForCTC, t.Wav2Vec2Config, **_AUDIO),
    "wav2vec 2, layer norm": _waves(t.Wav2Vec2ForCTC, t.Wav2Vec2Config, feat_extract_norm="layer", do_stable_layer_norm=True, **_AUDIO),
    "HuBERT": _waves(t.HubertForCTC, t.HubertConfig, **_AUDIO),
    "WavLM": _waves(t.WavLMForCTC, t.WavLMConfig, num_buckets=16, max_bucket_distance=32, **_AUDIO),
    "PatchTST": _series,
}  # fmt: skip
