//! Functions of rows: a team for each row. What is too long to be held is loaded and computed again where it is needed.

use std::rc::Rc;

use opforge::operator::Rows;
use opforge_core::Result;
use opforge_tile::Fold;
use opforge_trace::{Expression, Pass};

use crate::code::Code;
use crate::lower::Call;
use crate::program::Program;
use crate::team::{Computed, Found, Held, Line, Pack, Team};
use crate::value::Value;

use super::row_chain::{Chain, Part};

pub(crate) fn rows(call: &Call<'_>, rows: &Rows) -> Result<Program> {
    Chain::alone(call, Part::rows(call, rows)?, rows.axis).program(call.target)
}

/// What passes over a row make: the output of each number, computed pack by pack.
pub(super) fn passed<'h, 'a: 'h, T: 'h>(
    k: &'a Code,
    team: &Team<'_, 'a, T>,
    passes: &'h [Pass],
    elements: Vec<Rc<Held<'h, 'a, T>>>,
) -> Vec<(usize, Computed<'h, 'a, T>)> {
    let mut row = Row { k, elements: Rc::new(elements), kept: None, found: Vec::new() };
    let mut made: Vec<(usize, Computed<'h, 'a, T>)> = Vec::new();
    for pass in passes {
        match pass {
            Pass::Fold(by, expression) => row.fold(team, *by, expression),
            Pass::Write(output, expression) => {
                let computed = row.computed(expression);
                made.push((*output, Box::new(move |line, pack| computed(line, pack).swap_remove(0))));
            }
        }
    }
    made
}

/// What the passes so far know of a row.
struct Row<'h, 'a, T> {
    k: &'a Code,
    elements: Rc<Vec<Rc<Held<'h, 'a, T>>>>,
    /// What a pass keeps at every place, after what it combines there.
    kept: Option<Rc<Held<'h, 'a, T>>>,
    found: Vec<Found<'a>>,
}

impl<'h, 'a: 'h, T: 'h> Row<'h, 'a, T> {
    /// The results of an expression, each for all elements of a pack.
    fn computed(&self, of: &'h Expression) -> impl Fn(&Line<'a, T>, &Pack<'a>) -> Vec<Vec<Value<'a>>> + use<'h, 'a, T> {
        let (k, elements, kept, found) = (self.k, self.elements.clone(), self.kept.clone(), self.found.clone());
        move |line, pack| {
            let mut inputs: Vec<Vec<Value<'a>>> = elements.iter().map(|held| held.of(line, pack)).collect();
            // Before anything is kept nothing asks for it.
            inputs.push(
                kept.as_ref().map_or_else(|| inputs[0].clone(), |kept| kept.of(line, pack)[pack.width..].to_vec()),
            );
            inputs.extend(found.iter().map(|found| vec![found.of(line); pack.width]));
            let results = |i: usize| k.apply(of, &inputs.iter().map(|all| all[i]).collect::<Vec<_>>()).0;
            transposed((0..pack.width).map(results).collect())
        }
    }

    fn fold(&mut self, team: &Team<'_, 'a, T>, by: Fold, expression: &'h Expression) {
        let (k, computed) = (self.k, self.computed(expression));
        let combine = |a: Value<'a>, b: Value<'a>| match by {
            Fold::Sum => a + b,
            Fold::Max => a.max(b),
        };
        let dtype = expression.node(expression.results()[0]).dtype;
        let identity = k.constant(by.identity(), dtype);
        let found = if expression.results().len() == 2 {
            let both = Rc::new(team.hold(move |line, pack| computed(line, pack).concat()));
            self.kept = Some(both.clone());
            team.fold_packs(identity, |line, pack| both.of(line, pack)[..pack.width].to_vec(), combine)
        } else {
            team.fold_packs(identity, |line, pack| computed(line, pack).swap_remove(0), combine)
        };
        self.found.push(found);
    }
}

/// The values of each result, of the results of each element.
fn transposed<V: Copy>(of: Vec<Vec<V>>) -> Vec<Vec<V>> {
    (0..of[0].len()).map(|n| of.iter().map(|results| results[n]).collect()).collect()
}
