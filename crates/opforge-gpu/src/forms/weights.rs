//! Attention's weights from products of queries and keys, row by row, and the gradients of these products.

use std::rc::Rc;

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::Attention;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::team::{Line, Pack, Rows, Team, mapped, zipped};
use crate::tensor::Tensor;
use crate::value::Value;

use super::math::exp;

/// The weights of a row, of its scores. A query that a mask lets nowhere has no weights at all.
pub(crate) fn softmax<'h, 'a: 'h, T: 'h>(
    k: &'a Code,
    team: &Team<'_, 'a, T>,
    (dtype, is_masked): (DType, bool),
    scores: impl Fn(&Line<'a, T>, &Pack<'a>) -> Vec<Value<'a>> + 'h,
) -> impl Fn(&Line<'a, T>, &Pack<'a>) -> Vec<Value<'a>> + 'h {
    let (none, scores) = (k.constant(f64::NEG_INFINITY, dtype), Rc::new(team.hold(scores)));
    let greatest = team.fold_packs(none, |line, pack| scores.of(line, pack), |a, b| a.max(b));
    let zero = k.constant(0.0, dtype);
    let or_zero = move |line: &Line<'a, T>, value: Value<'a>| match is_masked {
        true => greatest.of(line).equals(none).choose(zero, value),
        false => value,
    };
    let terms = Rc::new(team.hold(move |line, pack| {
        let greatest = or_zero(line, greatest.of(line));
        mapped(scores.of(line, pack), |score| exp(score - greatest))
    }));
    let total = team.sum_packs(dtype, |line, pack| terms.of(line, pack));
    move |line, pack| mapped(terms.of(line, pack), |term| or_zero(line, term / total.of(line)))
}

/// A program of one launch: see [`program_of_weights`](crate::program_of_weights).
pub(crate) fn weights(call: &Call<'_>, form: &Attention) -> Result<Program> {
    call.real(call.inputs)?;
    let (dims, dtype) = (call.inputs[0].dims(), call.inputs[0].dtype);
    let (lead, m) = (&dims[..dims.len() - 1], dims[dims.len() - 1]);
    let mask = mask(call, form)?;
    call.one(|k| {
        let (from, to) = pair(call, k, 0);
        let slopes = form.gradient.then(|| pair(call, k, 1));
        let mask = mask.map(|(place, meta)| k.tensor(place, &meta, false));
        let scale = k.constant(form.scale.to_f64(), dtype);
        let lengths: Vec<Value<'_>> = lead.iter().map(|&len| k.size(len)).collect();
        let len = k.size(m);
        let tensors = call.inputs[..call.outputs.len()].iter().chain(call.outputs);
        let rows = Rows::contiguous(lead.iter().product(), m, tensors.map(|meta| meta.dtype));
        k.teams(
            rows,
            |row| (k.unravelled(row, &lengths), len),
            |team| {
                let weights = softmax(k, team, (dtype, mask.is_some()), |line, pack| {
                    let products = from.load_row_pack(line.row, pack).into_iter().enumerate();
                    let at = |i| [&line.at[..], &[pack.first + i]].concat();
                    products.map(|(i, product)| seen(form, mask.as_ref(), &at(i), product * scale)).collect()
                });
                let Some((by_weight, by_product)) = &slopes else {
                    return team.each_pack(|line, pack| to.store_row_pack(line.row, pack, &weights(line, pack)));
                };
                let weights = team.hold(weights);
                let slopes = team.hold(|line, pack| by_weight.load_row_pack(line.row, pack));
                let inner = team.sum_packs(dtype, |line, pack| {
                    zipped(weights.of(line, pack), slopes.of(line, pack), |weight, slope| weight * slope)
                });
                team.each_pack(|line, pack| {
                    let (weights, inner) = (weights.of(line, pack), inner.of(line));
                    let by_scores = zipped(weights.clone(), slopes.of(line, pack), |w, slope| w * (slope - inner));
                    to.store_row_pack(line.row, pack, &weights);
                    by_product.store_row_pack(line.row, pack, &mapped(by_scores, |by_score| by_score * scale));
                });
            },
        );
        Ok(())
    })
}

/// The mask and where it is, if there is one, broadcast to the scores.
fn mask(call: &Call<'_>, form: &Attention) -> Result<Option<(Place, Meta)>> {
    let number = 1 + usize::from(form.gradient);
    let Some(mask) = call.inputs.get(number) else { return Ok(None) };
    let layout = mask.layout.broadcast_as(call.inputs[0].shape(), call.op)?;
    Ok(Some((Place::Input(number), Meta { dtype: mask.dtype, layout })))
}

/// An input of rows and the output that is made of it, which is the same tensor where they have one dtype.
fn pair<'a>(call: &Call<'_>, k: &'a Code, number: usize) -> (Tensor<'a>, Tensor<'a>) {
    let (input, output) = (call.inputs[number], call.outputs[number]);
    let (place, m) = (Place::Output(number), input.dims()[input.rank() - 1]);
    let rows = |place, dtype, written| k.strided(place, dtype, &[input.elem_count() / m.max(1), m], &[m, 1], written);
    let to = rows(place, output.dtype, true);
    let from = if input.dtype == output.dtype { to.clone() } else { rows(Place::Input(number), input.dtype, false) };
    (from, to)
}

/// A score at an index `[.., row, key]` with the mask, and minus infinity where the query does not see the key.
fn seen<'a>(form: &Attention, mask: Option<&Tensor<'a>>, at: &[Value<'a>], score: Value<'a>) -> Value<'a> {
    let (none, row, key) = (score.like(f64::NEG_INFINITY), at[at.len() - 2], at[at.len() - 1]);
    let score = match mask {
        Some(mask) if mask.dtype == DType::Bool => mask.load(at).choose(score, none),
        Some(mask) => score + mask.load(at).to(score.dtype()),
        None => score,
    };
    if form.causal { key.le(row).choose(score, none) } else { score }
}
