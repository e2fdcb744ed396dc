//! Attributes as kernels read them.

use opforge::{DType, Result, Tensor};
use opforge_custom::{Attribute, CustomOp, DTypeRule, ShapeRule};

use crate::common::{compile, error, fails, op, options, vector};

fn digest() -> Result<CustomOp> {
    let op = op("digest.cc", "Digest").dtypes(DTypeRule::Fixed(vec![DType::F64]));
    let op =
        op.shapes(ShapeRule::Fixed(vec![vec![8]])).attr("flag", true)?.attr("int", i64::MIN)?.attr("float", 0.5f32)?;
    let op = op.attr("text", "größer als fünfzehn Zeichen")?.attr("ints", vec![1i64, 2, 3])?;
    let op = op.attr("floats", vec![0.25f32, 0.5])?.attr("int_rows", vec![vec![1i64, 2], vec![], vec![3]])?;
    op.attr("float_rows", vec![vec![1.5f32], vec![], vec![2.0, 3.0]])
}

#[test]
fn all_eight_types() -> Result<()> {
    let digest = digest()?;
    let y = digest.apply(&[&vector(&[])])?.to_vec1::<f64>()?;
    assert_eq!(y, [1.0, i64::MIN as f64, 0.5, 30.0, 123.0, 0.75, 201.0, 6.5]);
    let empty = digest.attr("text", "")?.attr("ints", Vec::<i64>::new())?.attr("float_rows", Vec::<Vec<f32>>::new())?;
    assert_eq!(empty.apply(&[&vector(&[])])?.to_vec1::<f64>()?[3..], [0.0, 0.0, 0.75, 201.0, 0.0]);
    Ok(())
}

#[test]
fn the_last_value_of_an_attribute_counts() -> Result<()> {
    let (x, digest) = (vector(&[]), digest()?);
    let changed = digest.clone().attr("float", 2.5f32)?;
    let float = |y: Tensor| Ok::<_, opforge::Error>(y.to_vec1::<f64>()?[2]);
    assert_eq!([float(changed.apply(&[&x])?)?, float(digest.apply(&[&x])?)?], [2.5, 0.5]);
    let given = digest.apply_with(&[&x], &[("float".into(), Attribute::Float(7.0))])?;
    assert_eq!(float(given[0].clone())?, 7.0);
    Ok(())
}

#[test]
fn a_missing_attribute_is_named() {
    let digest = op("digest.cc", "Digest").shapes(ShapeRule::Fixed(vec![vec![8]]));
    fails(&digest, &[&vector(&[])], &["Digest", "there is no attribute 'flag'"]);
}

#[test]
fn an_attribute_of_another_type_is_named() -> Result<()> {
    for (name, value, text) in [
        ("flag", Attribute::Int(1), "attribute 'flag' is an int, read as a bool"),
        ("int", Attribute::Bool(true), "attribute 'int' is a bool, read as an int"),
        ("float", Attribute::Int(1), "attribute 'float' is an int, read as a float"),
        ("text", Attribute::Ints(vec![]), "attribute 'text' is a list of ints, read as a text"),
        ("ints", Attribute::Floats(vec![]), "attribute 'ints' is a list of floats, read as a list of ints"),
        ("floats", Attribute::Ints(vec![]), "attribute 'floats' is a list of ints, read as a list of floats"),
        ("int_rows", Attribute::FloatRows(vec![]), "is a list of lists of floats, read as a list of lists of ints"),
        ("float_rows", Attribute::Text("x".into()), "is a text, read as a list of lists of floats"),
    ] {
        fails(&digest()?.attr(name, value)?, &[&vector(&[])], &[text]);
    }
    Ok(())
}

#[test]
fn whether_there_is_an_attribute() -> Result<()> {
    let has = op("digest.cc", "Has").shapes(ShapeRule::Fixed(vec![vec![]]));
    let has = has.dtypes(DTypeRule::Fixed(vec![DType::Bool]));
    for (name, expected) in [("name", true), ("names", false), ("", false)] {
        assert_eq!(has.clone().attr("name", name)?.apply(&[&vector(&[])])?.to_scalar::<bool>()?, expected, "{name}");
    }
    Ok(())
}

#[test]
fn other_types_of_attributes_do_not_compile() {
    for wrong in ["int", "double", "size_t", "std::vector<int>"] {
        let library = compile("attr_int.cc", &options(&[&format!("-DWRONG={wrong}")]));
        error(library, &["attr_int.cc", "T must be bool, int64_t, float, std::string"]);
    }
    compile("attr_int.cc", &options(&["-DWRONG=int64_t"])).unwrap();
}
