//! The shapes of arguments as expressions of sizes, both ways.

use std::sync::Arc;

use opforge::term::Parser;
use opforge::{DType, Error, Layout, Meta, Result, Shape, Tensor};

use super::{Free, GRAPH};
use crate::pattern::expression::{Atom, Expression};
use crate::pattern::{FORMAT, Size};

/// What arguments are for given sizes.
pub(super) struct Shapes {
    names: Vec<Arc<str>>,
    dtypes: Vec<DType>,
    dims: Vec<Vec<Expression>>,
    /// The layouts of arguments without free lengths.
    fixed: Vec<Option<Layout>>,
    /// The sizes of the examples.
    pub examples: Vec<usize>,
}

impl Shapes {
    /// # Errors
    /// For free lengths of no argument, names of no size, and lengths of the examples that are none of theirs.
    pub fn new(examples: &[&Tensor], sizes: &[Size], free: &[Free<'_>]) -> Result<Shapes> {
        let device = |x: &&Tensor| *x.device();
        if let Some(other) = examples.iter().find(|x| examples.first().map(device) != Some(device(x))) {
            return Err(Error::device(GRAPH, "input", other.device(), "one device that computes"));
        }
        let constant = |x: &&Tensor| x.dims().iter().map(|&n| Expression::from(n as i128)).collect::<Vec<_>>();
        let mut dims: Vec<Vec<Expression>> = examples.iter().map(constant).collect();
        let mut fixed: Vec<Option<Layout>> = examples.iter().map(|x| Some(x.layout().clone())).collect();
        for &(argument, dim, text) in free {
            let mut parser = Parser::new(text, FORMAT);
            let expression = Expression::read(&mut parser)?;
            let place = dims.get_mut(argument).and_then(|dims| dims.get_mut(dim)).filter(|_| parser.is_at_end());
            let none =
                || Error::value(GRAPH, "free", format!("{:?}", (argument, dim, text)), "dimensions of arguments");
            *place.ok_or_else(none)? = expression;
            fixed[argument] = None;
        }
        let lengths = || dims.iter().zip(examples).flat_map(|(dims, x)| dims.iter().zip(x.dims()));
        let found = sizes.iter().map(|size| {
            let solved = lengths().find_map(|(expression, &length)| expression.solved(&size.name, length));
            solved.filter(|value| (size.min..=size.max).contains(value)).ok_or_else(|| {
                let accepted = "sizes that are lengths of the examples, and between their least and most";
                Error::value(GRAPH, "sizes", size.to_string(), accepted)
            })
        });
        let found = found.collect::<Result<Vec<usize>>>()?;
        let names = sizes.iter().map(|size| size.name.clone()).collect();
        let dtypes = examples.iter().map(|x| x.dtype()).collect();
        let shapes = Shapes { names, dtypes, dims, fixed, examples: found };
        for (argument, (meta, x)) in shapes.metas(&shapes.examples)?.iter().zip(examples).enumerate() {
            if meta.shape() != x.shape() {
                let accepted = format!("the example's {:?}", x.dims());
                return Err(Error::shape(
                    GRAPH,
                    format!("argument {argument}"),
                    format!("{:?}", meta.dims()),
                    accepted,
                ));
            }
        }
        Ok(shapes)
    }

    /// The arguments' shapes for these sizes.
    pub fn metas(&self, sizes: &[usize]) -> Result<Vec<Meta>> {
        let known = |atom: &Atom| match atom {
            Atom::Size(name) => self.names.iter().position(|own| own == name).map(|place| sizes[place] as i128),
            _ => None,
        };
        let metas = self.dims.iter().zip(&self.dtypes).zip(&self.fixed).map(|((dims, &dtype), fixed)| {
            if let Some(layout) = fixed {
                return Ok(Meta { dtype, layout: layout.clone() });
            }
            let lengths = dims.iter().map(|expression| {
                let length = expression.value(&known).and_then(|length| usize::try_from(length).ok());
                length.ok_or_else(|| Error::value(GRAPH, "free", expression.to_string(), "expressions of the sizes"))
            });
            let shape = Shape::from(lengths.collect::<Result<Vec<usize>>>()?);
            shape.check(GRAPH, dtype.size_in_bytes())?;
            Ok(Meta::contiguous(dtype, shape))
        });
        metas.collect()
    }
}

impl Expression {
    /// The size of this name for which a length is what this expression says, if it is one times a number and with one added.
    pub(super) fn solved(&self, name: &str, length: usize) -> Option<usize> {
        let is_size = |atom: &Atom| matches!(atom, Atom::Size(own) if **own == *name);
        let (mut factor, mut more) = (0i128, 0i128);
        for product in &self.sum {
            match &product.atoms[..] {
                [] => more = more.checked_add(product.factor)?,
                [atom] if is_size(atom) => factor = factor.checked_add(product.factor)?,
                _ => return None,
            }
        }
        let rest = (length as i128).checked_mul(self.divisor)?.checked_sub(more)?;
        (rest.checked_rem(factor)? == 0).then(|| usize::try_from(rest / factor).ok()).flatten()
    }
}
