//! The least and most that sizes can be.

use opforge::{Error, Result};

use super::DynamicGraph;
use super::points::{LARGEST, least};
use crate::graph::Graph;
use crate::pattern::Size;

/// Sizes with what they can be, where the function is asked.
pub(super) struct Bounds {
    pub sizes: Vec<Size>,
    /// Values of the sizes from which others differ: the examples', but 2 at least where sizes can be.
    pub base: Vec<usize>,
}

type Traced<'a> = dyn Fn(&[usize]) -> Result<Graph> + 'a;

impl Bounds {
    /// Looks for the least (from 2 on) and the most of sizes that have none. A function is taken to accept all sizes between two that it accepts.
    pub fn find(sizes: &[Size], examples: &[usize], traced: &Traced<'_>) -> Result<Bounds> {
        let base = sizes.iter().zip(examples).map(|(size, &example)| example.max(least(size))).collect();
        let mut found = Bounds { sizes: sizes.to_vec(), base };
        traced(&found.base).map_err(|error| found.fails(&found.base, error))?;
        for i in 0..sizes.len() {
            let base = found.base[i];
            let works = |value: usize| {
                let mut point = found.base.clone();
                point[i] = value;
                traced(&point).is_ok()
            };
            let (mut min, mut max) = (sizes[i].min, sizes[i].max);
            if min == 0 && !works(2.min(max)) {
                min = border(base, 2, &works);
            }
            if max == usize::MAX && !works(LARGEST) {
                max = border(base, LARGEST, &works);
            }
            if min == max && sizes[i].min < sizes[i].max {
                return Err(found.fixed(i, traced));
            }
            (found.sizes[i].min, found.sizes[i].max) = (min, max);
        }
        Ok(found)
    }

    /// Lowers the least of sizes that may be anything to 1 or 0 where the function gives results as for others; refuses it where it was asked for.
    pub fn look_below(&mut self, asked: &[Size], graph: &DynamicGraph, traced: &Traced<'_>) -> Result<()> {
        for (i, asked) in asked.iter().enumerate() {
            let min = self.sizes[i].min;
            for value in (min..least(&self.sizes[i]).min(2)).rev() {
                let mut point = self.base.clone();
                point[i] = value;
                let outcome = traced(&point).and_then(|own| same_results(&own, &graph.graph(&point)?));
                match outcome {
                    Ok(()) => {}
                    Err(error) if asked.min > 0 => return Err(self.fails(&point, error)),
                    Err(_) => {
                        self.sizes[i].min = value + 1;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// The error of a size that can only be what it is.
    #[cold]
    fn fixed(&self, i: usize, traced: &Traced<'_>) -> Error {
        let mut next = self.base.clone();
        next[i] += 1;
        let reason = traced(&next).map_or_else(|error| error.to_string(), |_| "others were refused".to_owned());
        let given = format!("{} can be nothing but {}: {reason}", self.sizes[i].name, self.base[i]);
        self.fails(&next, Error::value("graph", "sizes", given, "lengths that are free"))
    }

    /// An error of the function, with the sizes for which it came.
    #[cold]
    pub fn fails(&self, values: &[usize], error: Error) -> Error {
        let sizes = self.sizes.iter().zip(values).map(|(size, value)| format!("{} = {value}", size.name));
        error.context(format!("traced for {}", sizes.collect::<Vec<_>>().join(", ")))
    }
}

/// The last value that works on the way from one that does to one that does not.
fn border(works_at: usize, fails_at: usize, works: &dyn Fn(usize) -> bool) -> usize {
    let (mut good, mut bad) = (works_at, fails_at);
    while good.abs_diff(bad) > 1 {
        let middle = good.midpoint(bad);
        if works(middle) { good = middle } else { bad = middle }
    }
    good
}

/// Refuses results of other shapes than the graph's.
fn same_results(own: &Graph, general: &Graph) -> Result<()> {
    let shapes =
        |graph: &Graph| graph.outputs.iter().map(|x| (x.meta.dtype, x.meta.shape().clone())).collect::<Vec<_>>();
    let (own, general) = (shapes(own), shapes(general));
    if own == general {
        return Ok(());
    }
    Err(Error::value("graph", "results", format!("{own:?}"), format!("{general:?}, as for other sizes")))
}
