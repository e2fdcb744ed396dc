"""peft: adapters of a small language model."""

import tempfile

import models
import peft
import transformers

PACKAGE = "peft"


def _base():
    config = transformers.LlamaConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, num_key_value_heads=2, max_position_embeddings=64
    )
    return models.filled(transformers.LlamaForCausalLM(config))


def _tokens():
    return models.integers(90, models.BATCH, 9)


def _adapted(config):
    return lambda: models.passes(peft.get_peft_model(_base(), config), _tokens(), labels=_tokens(), pick=lambda out: (out.loss, out.logits))


def _merged():
    model = models.filled(peft.get_peft_model(_base(), peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))).eval()
    before = model(_tokens()).logits
    return models.arrays([before, model.merge_and_unload()(_tokens()).logits])


def _saved():
    model = models.filled(peft.get_peft_model(_base(), peft.LoraConfig(r=4, target_modules=["q_proj"]))).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        base = model.get_base_model()
        del base
        fresh = peft.PeftModel.from_pretrained(_base(), folder).eval()
    names = [name for name, _ in fresh.named_parameters() if "lora" in name]
    return models.arrays({name: fresh.get_parameter(name) for name in names})


_TARGETS = {"target_modules": ["q_proj", "v_proj", "down_proj"]}
CASES = {
    "LoRA": _adapted(peft.LoraConfig(r=4, lora_alpha=8, **_TARGETS)),
    "DoRA": _adapted(peft.LoraConfig(r=4, use_dora=True, **_TARGETS)),
    "LoHa": _adapted(peft.LoHaConfig(r=4, **_TARGETS)),
    "LoKr": _adapted(peft.LoKrConfig(r=4, **_TARGETS)),
    "IA3": _adapted(peft.IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"])),
    "AdaLoRA": _adapted(peft.AdaLoraConfig(init_r=4, target_r=2, total_step=10, **_TARGETS)),
    "prefix tuning": _adapted(peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)),
    "prompt tuning": _adapted(peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)),
    "merge_and_unload": _merged,
    "save_pretrained": _saved,
}
