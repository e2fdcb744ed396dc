//! How tensors print: texts worked out by hand from PyTorch's rules.

use opforge::display::{PrinterOptions, Style, text};
use opforge::{Complex, DType, Device, Result, Tensor};

const CPU: &Device = &Device::Cpu;

fn numbers(n: i64) -> Result<Tensor> {
    Tensor::from_iter(0..n, CPU)
}

#[test]
fn display_shows_elements_then_shape_and_dtype() -> Result<()> {
    let tall = Tensor::new(&[[[1u8, 2], [3, 40]], [[5, 6], [7, 8]]], CPU)?;
    let cases = [
        (Tensor::new(1234u32, CPU)?, "[1234]\nTensor[[], u32]"),
        (Tensor::new(42f32, CPU)?, "[42.]\nTensor[[], f32]"),
        (Tensor::new(0.5f64, CPU)?, "[0.5000]\nTensor[[], f64]"),
        (Tensor::zeros(0, DType::F32, CPU)?, "[]\nTensor[[0], f32]"),
        (Tensor::zeros((2, 0), DType::I64, CPU)?, "[]\nTensor[[2, 0], i64]"),
        (Tensor::new(&[-1i64, 20, 300], CPU)?, "[ -1,  20, 300]\nTensor[[3], i64]"),
        (Tensor::new(&[u64::MAX, 1], CPU)?, "[18446744073709551615,                    1]\nTensor[[2], u64]"),
        (Tensor::new(&[true, false], CPU)?, "[ true, false]\nTensor[[2], bool]"),
        (
            Tensor::new(&[0.123456f32, 1.0, -1.2, 4.1, f32::NAN], CPU)?,
            "[ 0.1235,  1.0000, -1.2000,  4.1000,     NaN]\nTensor[[5], f32]",
        ),
        (Tensor::new(&[1f32, 1e4], CPU)?, "[1.0000e0, 1.0000e4]\nTensor[[2], f32]"),
        (Tensor::new(&[0f32, 5e-5], CPU)?, "[ 0.0000e0, 5.0000e-5]\nTensor[[2], f32]"),
        (Tensor::new(&[[1f32, -2.0], [3.0, 40.0]], CPU)?, "[[ 1., -2.],\n [ 3., 40.]]\nTensor[[2, 2], f32]"),
        (tall, "[[[ 1,  2],\n  [ 3, 40]],\n [[ 5,  6],\n  [ 7,  8]]]\nTensor[[2, 2, 2], u8]"),
        (Tensor::new(&[0.5f32], CPU)?.to_dtype(DType::BF16)?, "[0.5000]\nTensor[[1], bf16]"),
        (Tensor::new(&[Complex::new(1f32, -0.5)], CPU)?, "[1.-0.5000j]\nTensor[[1], c64]"),
        (Tensor::zeros((2, 3), DType::F32, &Device::Meta)?, "...\nTensor[[2, 3], f32, meta]"),
    ];
    for (tensor, expected) in cases {
        assert_eq!(tensor.to_string(), expected);
    }
    Ok(())
}

#[test]
fn views_print_like_their_copies() -> Result<()> {
    let t = numbers(6)?.reshape((2, 3))?.t()?;
    assert_eq!(t.to_string(), "[[0, 3],\n [1, 4],\n [2, 5]]\nTensor[[3, 2], i64]");
    Ok(())
}

#[test]
fn long_vectors_are_broken_and_large_ones_cut() -> Result<()> {
    // 80 columns hold 20 items of 2 + 2 columns.
    let lines = numbers(50)?.to_string();
    let widths: Vec<usize> = lines.lines().map(str::len).collect();
    assert_eq!(widths, [80, 80, 40, "Tensor[[50], i64]".len()]);
    assert!(lines.starts_with("[ 0,  1,") && lines.contains("\n 20, 21,"), "{lines}");
    let large = numbers(1001)?;
    assert_eq!(large.to_string(), "[   0,    1,    2, ...,  998,  999, 1000]\nTensor[[1001], i64]");
    let matrix = numbers(2000)?.reshape((1000, 2))?;
    let expected =
        "[[   0,    1],\n [   2,    3],\n [   4,    5],\n ...\n [1994, 1995],\n [1996, 1997],\n [1998, 1999]]";
    assert_eq!(matrix.to_string(), format!("{expected}\nTensor[[1000, 2], i64]"));
    Ok(())
}

#[test]
fn python_style_is_pytorchs() -> Result<()> {
    let options = PrinterOptions::default();
    let show = |t: &Tensor| text(t, Style::Python, 7, &options);
    let cases = [
        (Tensor::new(42f32, CPU)?, "42."),
        (Tensor::new(&[1f32, f32::NAN], CPU)?, "[1., nan]"),
        (Tensor::new(&[1f32, 1e4], CPU)?, "[1.0000e+00, 1.0000e+04]"),
        (Tensor::new(&[[true, false]], CPU)?, "[[ True, False]]"),
        (numbers(4)?.reshape((2, 1, 2))?, "[[[0, 1]],\n\n        [[2, 3]]]"),
        (numbers(1001)?, "[   0,    1,    2,  ...,  998,  999, 1000]"),
    ];
    for (tensor, expected) in cases {
        assert_eq!(show(&tensor)?, expected);
    }
    Ok(())
}

#[test]
fn options_change_what_is_shown() -> Result<()> {
    let t = Tensor::new(&[0.123456f64, 2.0], CPU)?;
    let with = |options: PrinterOptions| text(&t, Style::Rust, 0, &options);
    assert_eq!(with(PrinterOptions { precision: 2, ..Default::default() })?, "[0.12, 2.00]");
    assert_eq!(with(PrinterOptions { sci_mode: Some(true), ..Default::default() })?, "[1.2346e-1,  2.0000e0]");
    assert_eq!(with(PrinterOptions { threshold: 1, edge_items: 0, ..Default::default() })?, "[]");
    Ok(())
}

#[test]
fn debug_is_one_line() -> Result<()> {
    assert_eq!(format!("{:?}", Tensor::zeros((2, 3), DType::F32, CPU)?), "Tensor[dims 2, 3; f32]");
    assert_eq!(format!("{:?}", Tensor::new(1.5f32, CPU)?), "Tensor[1.5; f32]");
    assert_eq!(format!("{:?}", Tensor::new(&[1u32, 2], CPU)?), "Tensor[1, 2; u32]");
    assert_eq!(format!("{:?}", numbers(10)?), "Tensor[dims 10; i64]");
    Ok(())
}

#[test]
fn the_notation_follows_the_numbers() -> Result<()> {
    let cases: [(&[f64], &str, &str); 11] = [
        (&[42.0, 1.0], "42.", "42."),
        (&[0.0], "0.", "0."),
        (&[-0.5, 2.0], "-0.5000", "-0.5000"),
        (&[0.5, 500.0], "0.5000", "0.5000"),
        (&[1.0, 1001.0], "1.0000e0", "1.0000e+00"),
        (&[-1.0, 1000.0], "-1.", "-1."),
        (&[2e8], "2.0000e8", "2.0000e+08"),
        (&[9e-5], "9.0000e-5", "9.0000e-05"),
        (&[1e-100, 0.0], "1.0000e-100", "1.0000e-100"),
        (&[f64::NAN, 1.5], "NaN", "nan"),
        (&[f64::NEG_INFINITY, 1.0], "-inf", "-inf"),
    ];
    for (values, rust, python) in cases {
        let tensor = Tensor::new(values, &Device::Cpu)?;
        for (style, expected) in [(Style::Rust, rust), (Style::Python, python)] {
            let text = text(&tensor, style, 0, &PrinterOptions::default())?;
            let first = text.trim_matches(['[', ']']).split(',').next().unwrap_or_default().trim();
            assert_eq!(first, expected, "{values:?}");
        }
    }
    Ok(())
}
