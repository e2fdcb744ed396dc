"""transformers: models of small random sizes, generation, files."""

import tempfile

import models
import torch
import transformers

PACKAGE = "transformers"
TEXT = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "max_position_embeddings": 64}


def _tokens(length=9, name="tokens"):
    return models.integers(90, models.BATCH, length, name=name) + 5


def _mask(length=9):
    mask = torch.ones(models.BATCH, length, dtype=torch.int64)
    mask[1, -3:] = 0
    return mask


def _bert():
    config = transformers.BertConfig(**TEXT)
    return models.passes(transformers.BertForMaskedLM(config), _tokens(), attention_mask=_mask(), labels=_tokens(name="labels"))


def _classified():
    config = transformers.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=37, max_position_embeddings=64, num_labels=3)
    model = transformers.DistilBertForSequenceClassification(config)
    return models.passes(model, _tokens(), attention_mask=_mask(), labels=torch.tensor([0, 2]))


def _gpt2_config():
    return transformers.GPT2Config(vocab_size=99, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)


def _gpt2():
    return models.passes(transformers.GPT2LMHeadModel(_gpt2_config()), _tokens(), labels=_tokens(), pick=lambda out: (out.loss, out.logits))


def _llama_config():
    return transformers.LlamaConfig(**TEXT, num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def _llama():
    model = transformers.LlamaForCausalLM(_llama_config())
    return models.passes(model, _tokens(), attention_mask=_mask(), labels=_tokens(), pick=lambda out: (out.loss, out.logits))


def _mistral():
    config = transformers.MistralConfig(**TEXT, num_key_value_heads=2, sliding_window=4)
    return models.passes(transformers.MistralForCausalLM(config), _tokens(), labels=_tokens(), pick=lambda out: (out.loss, out.logits))


def _t5_config():
    return transformers.T5Config(
        vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1
    )


def _t5():
    model = transformers.T5ForConditionalGeneration(_t5_config())
    return models.passes(model, _tokens(), attention_mask=_mask(), labels=_tokens(5), pick=lambda out: (out.loss, out.logits))


def _vit():
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, image_size=32, patch_size=8, num_labels=5
    )
    return models.passes(transformers.ViTForImageClassification(config), models.normal(models.BATCH, 3, 32, 32))


def _clip():
    text = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "eos_token_id": 2}
    vision = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "image_size": 32, "patch_size": 8}
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16))
    pick = lambda out: (out.loss, out.logits_per_image)
    return models.passes(model, input_ids=_tokens(), pixel_values=models.normal(models.BATCH, 3, 32, 32), return_loss=True, pick=pick)


def _whisper():
    config = transformers.WhisperConfig(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=37,
        decoder_ffn_dim=37, num_mel_bins=8, max_source_positions=20, max_target_positions=30, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=3,
    )  # fmt: skip
    model = transformers.WhisperForConditionalGeneration(config)
    return models.passes(model, models.normal(models.BATCH, 8, 40), labels=_tokens(5), pick=lambda out: (out.loss, out.logits))


def _generated(build, **options):
    model = models.filled(build()).eval()
    return models.arrays(model.generate(_tokens(), attention_mask=torch.ones_like(_tokens()), max_new_tokens=8, do_sample=False, **options))


def _saved():
    model = models.filled(transformers.BertModel(transformers.BertConfig(**TEXT))).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = transformers.BertModel.from_pretrained(folder).eval()
    return models.arrays([model(_tokens()).last_hidden_state, again(_tokens()).last_hidden_state])


def _trained():
    rows = [{"input_ids": models.integers(90, 9, name=str(i)), "labels": models.integers(3, 1, name=str(i))[0]} for i in range(16)]
    config = transformers.BertConfig(**TEXT, num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = models.filled(transformers.BertForSequenceClassification(config))
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=4, per_device_train_batch_size=4, report_to=[], save_strategy="no", logging_strategy="no", use_cpu=True,
            learning_rate=0.1, optim="sgd", disable_tqdm=True, train_sampling_strategy="sequential",
        )  # fmt: skip
        transformers.Trainer(model, arguments, train_dataset=rows).train()
    return models.arrays(dict(model.named_parameters()))


CASES = {
    "BERT": _bert,
    "DistilBERT": _classified,
    "GPT-2": _gpt2,
    "Llama": _llama,
    "Mistral": _mistral,
    "T5": _t5,
    "ViT": _vit,
    "CLIP": _clip,
    "Whisper": _whisper,
    "generate, GPT-2": lambda: _generated(lambda: transformers.GPT2LMHeadModel(_gpt2_config())),
    "generate, Llama": lambda: _generated(lambda: transformers.LlamaForCausalLM(_llama_config())),
    "generate, T5 with beams": lambda: _generated(lambda: transformers.T5ForConditionalGeneration(_t5_config()), num_beams=3),
    "save_pretrained": _saved,
    "Trainer": _trained,
}
