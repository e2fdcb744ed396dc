//! Products of matrices: a thread an element where they are small, else tiles of 16 by 16 that a group shares.

use opforge_core::{Error, Meta, Result, Shape};
use opforge_tile::forms::Contract;

use crate::code::Code;
use crate::kernel::LANES;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

/// Rows and columns of a tile; a group has a lane for each element.
const TILE: usize = 16;
const _: () = assert!(TILE * TILE == LANES);
/// Products of so many additions and more are made of tiles.
const LARGE: usize = 1 << 15;

/// A product's operands: the first by rows and depth, the second by depth and columns, with all leading dimensions before; and what is added.
struct Problem<'a> {
    a: Tensor<'a>,
    b: Tensor<'a>,
    bias: Option<Tensor<'a>>,
    y: Tensor<'a>,
    depth: Value<'a>,
}

pub(crate) fn contract(call: &Call<'_>, form: &Contract) -> Result<Program> {
    call.real(call.inputs)?;
    let (mut inputs, mut output) =
        (call.inputs.iter().map(|&x| x.clone()).collect::<Vec<_>>(), call.outputs[0].clone());
    if let Contract::Linear { .. } = form {
        // A vector is a row.
        if output.rank() == 1 {
            inputs[0].layout = inputs[0].layout.unsqueeze(0)?;
            output.layout = output.layout.unsqueeze(0)?;
        }
        inputs[1].layout = inputs[1].layout.transpose(0, 1)?;
    }
    let rank = output.rank();
    let lead = &output.dims()[..rank - 2];
    let stretched = |input: &Meta| {
        let matrix = &input.dims()[input.rank() - 2..];
        let shape: Shape = lead.iter().chain(matrix).copied().collect();
        Ok::<_, Error>(Meta { dtype: input.dtype, layout: input.layout.broadcast_as(&shape, call.op)? })
    };
    let (a, b) = (stretched(&inputs[0])?, stretched(&inputs[1])?);
    let depth = a.dims()[rank - 1];
    let large = output.elem_count().saturating_mul(depth) >= LARGE && depth >= TILE;
    call.one(|k| {
        let bias = inputs.get(2).map(|bias| k.input(2, bias));
        let (a, b) = (k.tensor(Place::Input(0), &a, false), k.tensor(Place::Input(1), &b, false));
        let problem = Problem { a, b, bias, y: k.tensor(Place::Output(0), &output, true), depth: k.size(depth) };
        if large {
            problem.by_tiles(k, output.dims())
        } else {
            problem.by_elements(k, output.dims())
        }
        Ok(())
    })
}

impl<'a> Problem<'a> {
    fn finish(&self, at: &[Value<'a>], sum: Value<'a>) {
        let sum = match &self.bias {
            Some(bias) => sum + bias.load(&at[at.len() - 1..]),
            None => sum,
        };
        self.y.store(at, sum);
    }

    fn by_elements(&self, k: &'a Code, dims: &[usize]) {
        let rank = dims.len();
        k.each_of(dims, |at| {
            let (lead, row, column) = (&at[..rank - 2], at[rank - 2], at[rank - 1]);
            let sum = k.var(k.constant(0i64, self.y.dtype.compute()));
            k.repeat(self.depth, |i| {
                let a = self.a.load(&[lead, &[row, i]].concat());
                let b = self.b.load(&[lead, &[i, column]].concat());
                sum.set(a.mul_add(b, sum.get()));
            });
            self.finish(at, sum.get());
        });
    }

    fn by_tiles(&self, k: &'a Code, dims: &[usize]) {
        let rank = dims.len();
        let (lead, rows, columns) = (&dims[..rank - 2], dims[rank - 2], dims[rank - 1]);
        let tiles = [rows.div_ceil(TILE), columns.div_ceil(TILE)];
        let lengths: Vec<Value<'a>> = lead.iter().chain(&tiles).map(|&n| k.size(n)).collect();
        let (rows, columns) = (k.size(rows), k.size(columns));
        let dtype = self.y.dtype.compute();
        let (left, right) = (k.shared(dtype, LANES), k.shared(dtype, LANES));
        let (sum, zero) = (k.lane_var(dtype), k.constant(0i64, dtype));
        k.groups(lead.iter().chain(&tiles).product(), |group| {
            let at = k.unravelled(group, &lengths);
            let (lead, first) = at.split_at(rank - 2);
            let (first_row, first_column) = (first[0] * TILE, first[1] * TILE);
            let here = |lane: Value<'a>| (first_row + lane / TILE, first_column + lane % TILE);
            k.lanes(LANES, |_| sum.set(zero));
            k.repeat((self.depth + (TILE - 1)) / TILE, |step| {
                let begin = step * TILE;
                k.lanes(LANES, |lane| {
                    let ((row, column), (i, j)) = (here(lane), (lane / TILE, lane % TILE));
                    let tile = |x: &Tensor<'a>, inside: Value<'a>, at: [Value<'a>; 2]| {
                        let element = k.var(zero);
                        k.when(inside, || element.set(x.load(&[lead, &at].concat())));
                        element.get()
                    };
                    let (down, along) = (begin + i, begin + j);
                    left.store(lane, tile(&self.a, row.lt(rows) & along.lt(self.depth), [row, along]));
                    right.store(lane, tile(&self.b, column.lt(columns) & down.lt(self.depth), [down, column]));
                });
                k.lanes(LANES, |lane| {
                    let (row, column) = (lane / TILE * TILE, lane % TILE);
                    k.repeat(k.index(TILE), |i| {
                        let (a, b) = (left.load(row + i), right.load(i * TILE + column));
                        sum.set(a.mul_add(b, sum.get()));
                    });
                });
            });
            k.lanes(LANES, |lane| {
                let (row, column) = here(lane);
                let inside = row.lt(rows) & column.lt(columns);
                k.when(inside, || self.finish(&[lead, &[row, column]].concat(), sum.get()));
            });
        });
    }
}
