"""What of candle's names is there: `docs/candle.md`, and a test that uses every name which is said to be.

`python tools/candle.py` writes both from `candle_names.toml`; with `--check` it only tells, by its exit status, whether they are as they should be.
"""

from __future__ import annotations

import pathlib
import sys
import tomllib

ROOT = pathlib.Path(__file__).parents[1]
NAMES = pathlib.Path(__file__).with_name("candle_names.toml")
TEST = "crates/opforge-nn/tests/candle/items.rs"
PAGE = "docs/candle.md"

INTRODUCTION = """\
# Moving from candle

<!-- Written by `tools/candle.py` from `tools/candle_names.toml`; do not edit. -->

Programs written for candle-core and candle-nn keep their text. In `Cargo.toml`, the crates take candle's names:

```toml
[dependencies]
candle-core = { package = "opforge", version = "0.1" }
candle-nn = { package = "opforge-nn", version = "0.1" }
```

[`candle/program.rs`](../crates/opforge-nn/tests/candle/program.rs) is such a program: it trains a convolutional network, saves it, reads it and quantizes its last
layer.

## Where values differ

Methods of tensors: the table in the documentation of [`Tensor`](../crates/opforge/src/tensor/mod.rs), "Beside candle and PyTorch". Besides:

| | candle 0.11 | here |
|---|---|---|
| gradients of the input of `QMatMul` | none | those of the product with the dequantized weight |
| NaN, quantized | some finite number | NaN, for the whole block |
| `quantize` to types with `K` | its own search for scales | least squares, which leave a little less error |
| texts in files of gguf | as long as they claim, up to a gigabyte | no longer than the file |
| `QStorage::from_data` of bytes that do not fill blocks | panics | an error |
| `QTensor::new` of another shape than the storage has elements for | is made | an error |
| `ScatteredKvCache` after as many steps as it has room for, or more | what was there before | the last steps |
| `ScatteredKvCache`, sequences that do not go on | are written to | stay as they are |
| numbers beyond 448 in `DType::F8E4M3` | 448 | NaN beyond 464, as in PyTorch; [`F8E4M3`](../crates/opforge-core/src/float8.rs) is opforge's own type |
| arithmetic in `DType::F8E4M3` | rounded each time | an error: tensors of it are stored, moved and converted |
| `DType::is_float` of `F8E4M3` | true | false: it means floats that are computed in |
| `ops::sdpa` | on Metal only | everywhere |
| `moe::moe_gemm`, `moe::moe_gemm_gguf` | on CUDA only | everywhere |
| `attention::flash_attn` of several sequences with a mask, a `softcap` or bf16 | an error | as of one |
| gradients of `attention::flash_attn` and its kin | none | there |
| `Tensor::storage_and_layout` | the memory itself | a copy of it; `Storage::Unreadable` where there is no data |
| `Tensor::from_storage` of another number of elements than the shape | not checked | an error for whoever reads the tensor |
| `ggml_file` of unversioned files | takes a score after each token | has none there |
| shapes that do not go together in `add`, `matmul`, `reshape` | `Error::ShapeMismatchBinaryOp { lhs, rhs, op }` | the same, of `Box<Shape>` |
| a variable that was changed between the forward and the backward pass | gradients by the new elements | an error |
| gradients of `max_pool2d` | divided by the size of the window; an error where windows overlap | the derivative |
| `conv_transpose1d`, `conv_transpose2d` with an `output_padding` not below `stride` or `dilation` | zeros at the end | an error |
| a `stride` or `dilation` of 0 in convolutions | a value | an error |
| convolutions of groups that do not divide the kernel's outputs | leave outputs out | an error |
| upsampling to a size of 0, or by a factor that is not positive | an empty tensor | an error |
| `upsample_bilinear2d` and `avg_pool2d` of u32; `upsample_bilinear2d` of u8 | a value; cut to whole numbers | an error; rounded |
| `avg_pool2d` of signed integers | zeros | means, cut to whole numbers |
| `BatchNorm`, training, with one number a channel | a value, and a running variance of NaN | an error |
| `Tensor::cat(&[a], 7)` of fewer dimensions | `a` | an error |
| `Tensor::randn` with a negative standard deviation | a value | an error |
| `dropout` with a probability of 1 | an error | zeros |
| `binary_cross_entropy_with_logit` of large logits | infinite or NaN | finite |
| files of numpy's with truth values; safetensors with `U16` | `U8`; `U32` | `Bool`; `U16`, as they were written: `to_dtype` converts |
| files that are not there, in `MmapedSafetensors` | `Error::WithPath` | `Error::Io`, whose text names the file, as in all readers |
"""

TEST_HEAD = """\
//! Every name of candle's crates that is said to be there. Written by `tools/candle.py` from `tools/candle_names.toml`; do not edit.
//! That it compiles is the test.
#![allow(unused_imports, nonstandard_style)]
"""


def module(name: str) -> str:
    """The module that a name is in: empty for the crate itself."""
    return name.rpartition("::")[0]


def page(crates: dict) -> str:
    parts = [INTRODUCTION]
    for candle, listed in crates.items():
        parts.append(f"\n## {candle.replace('_', '-')} {listed['version']}\n")
        parts.append("\n| module | names that are there |\n|---|---|\n")
        modules: dict[str, list[str]] = {}
        for name in listed["present"]:
            modules.setdefault(module(name), []).append(name.rpartition("::")[2])
        for place, names in sorted(modules.items()):
            row = ", ".join(f"`{name}`" for name in names)
            parts.append(f"| {f'`{place}`' if place else 'the crate'} | {row} |\n")
        absent = listed["absent"] | listed.get("methods_absent", {})
        parts.append("\n| not there | because |\n|---|---|\n")
        parts.extend(f"| `{name}` | {reason} |\n" for name, reason in absent.items())
    return "".join(parts)


def test(crates: dict) -> str:
    parts = [TEST_HEAD]
    for candle, listed in crates.items():
        parts.append(f"\n#[rustfmt::skip]\nmod {candle} {{\n")
        for name in listed["present"]:
            # Each under a name of its own, so that none hides another.
            parts.append(f"    use {listed['crate']}::{name} as {name.replace('::', '_')};\n")
        parts.append("}\n")
    return "".join(parts)


def main() -> int:
    crates = tomllib.loads(NAMES.read_text())
    stale = []
    for path, text in {PAGE: page(crates), TEST: test(crates)}.items():
        file = ROOT / path
        if file.exists() and file.read_text() == text:
            continue
        stale.append(path)
        if "--check" not in sys.argv:
            file.write_text(text)
    if "--check" in sys.argv and stale:
        print("These files do not go with tools/candle_names.toml; run tools/candle.py and commit them:", *stale, sep="\n  ")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
