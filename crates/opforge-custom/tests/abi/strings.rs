//! Libraries compiled against headers of MindSpore's layout and against opforge's, for both ABIs of `std::string`, and the classes without strings.

use opforge::Result;
use opforge_custom::source::Options;
use opforge_custom::{CustomOp, ShapeRule};

use crate::common::{compile, error, fails, foreign, op_with, options, vector};

const ABIS: [(&str, f32); 2] = [("-D_GLIBCXX_USE_CXX11_ABI=0", 8.0), ("-D_GLIBCXX_USE_CXX11_ABI=1", 32.0)];
const LONG: &str = "long_name_that_no_short_string_holds";

/// Each header with each ABI, optimised or not.
fn variants() -> Vec<(Options, f32)> {
    let mut variants = Vec::new();
    for (abi, size) in ABIS {
        for optimisation in ["-O0", "-O2"] {
            variants.push((options(&[abi, optimisation]), size));
            variants.push((foreign(&[abi, optimisation]), size));
        }
    }
    variants
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn texts_attributes_and_data_in_either_abi() -> Result<()> {
    for (options, size) in variants() {
        let string = op_with("strings.cc", "StringSize", &options).shapes(ShapeRule::Fixed(vec![vec![]]));
        assert_eq!(string.apply(&[&vector(&[])])?.to_scalar::<f32>()?, size, "{options:?}");
        let texts = op_with("strings.cc", "Texts", &options).attr("rows", vec![vec![1i64], vec![2, 3]])?;
        for text in ["", "short", "a text that is too long to be kept inside of a string"] {
            let characters: Vec<f32> = text.bytes().map(f32::from).collect();
            let found = texts.clone().attr(LONG, text)?.apply(&[&vector(&[])])?;
            assert_eq!(found.to_vec1::<f32>()?, characters, "{options:?}");
        }
        fails(&texts, &[&vector(&[])], &["TextsInferShape threw a C++ exception: there is no attribute 'long_name"]);
    }
    Ok(())
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_classes_without_strings() -> Result<()> {
    for (options, _) in variants() {
        let dual =
            op_with("dual.cc", "Dual", &options).attr("text", "größer als fünfzehn Zeichen")?.attr("length", 3i64)?;
        let dual = dual.attr("values", vec![0.5f32, 1.5, 2.5])?;
        assert_eq!(dual.apply(&[&vector(&[])])?.to_vec1::<f32>()?, [0.5, 1.5, 2.5], "{options:?}");
        let short = dual.attr("values", 1i64)?;
        fails(&short, &[&vector(&[])], &["attribute 'values' is an int, read as a list of floats"]);
    }
    Ok(())
}

#[test]
fn attributes_of_other_types_compile_against_a_foreign_header_alone() {
    let library = compile("attr_int.cc", &foreign(&["-DWRONG=int"])).unwrap();
    let narrow = CustomOp::open(&library, "Narrow").unwrap().shapes(ShapeRule::Like(0)).attr("axis", 3i64).unwrap();
    assert_eq!(narrow.apply(&[&vector(&[])]).unwrap().elem_count(), 0);
    error(compile("attr_int.cc", &options(&["-DWRONG=int"])), &["T must be"]);
}
