//! What is computed of matrices side by side.

use opforge_core::Meta;

use super::super::place::Place;
use super::super::{Dense, Failure};
use super::layout::{self, Chosen};
use super::{MOST_ROWS, eliminate, reflect, svd, symmetric};
use crate::simd::Vector;

/// The most rows and columns of what is eliminated where lanes are filled, where there are at least [`BATCH`] matrices, and where there are fewer.
const FULL_ROWS: usize = 32;
const FEW_ROWS: usize = 8;
const LEAST_ROWS: usize = 4;
const BATCH: usize = 4;

/// What is computed, and of which size.
#[derive(Clone, Copy)]
pub(super) enum Task {
    LogDet { n: usize },
    Solve { n: usize, columns: usize },
    Cholesky { n: usize },
    Eigen { n: usize, upper: bool },
    Qr(reflect::Shape),
    Svd { shape: svd::Shape, wide: bool },
}

/// Where tensors lie, as matrices of what is computed: of some, the transposes.
pub(super) struct Places {
    pub a: Place,
    pub b: Option<Place>,
    pub outputs: Vec<Place>,
}

impl Task {
    /// The task, if it is faster side by side, with so many lanes, than one after another.
    pub fn new(what: Dense, inputs: &[&Meta], outputs: &[&Meta], lanes: usize) -> Option<Self> {
        let lead = inputs[0].rank() - 2;
        let batch: usize = inputs[0].dims()[..lead].iter().product();
        let [m, n] = [inputs[0].dims()[lead], inputs[0].dims()[lead + 1]];
        let of_output = |i: usize, axis: usize| outputs[i].dims()[lead + axis];
        let (square, half_filled) = (m == n, 2 * batch >= lanes);
        let eliminated = match batch {
            _ if batch >= lanes => FULL_ROWS,
            BATCH.. => FEW_ROWS,
            _ => LEAST_ROWS,
        };
        let (task, most) = match what {
            Dense::LogDet => (Task::LogDet { n }, eliminated),
            Dense::Cholesky => (Task::Cholesky { n }, eliminated),
            Dense::Solve => (Task::Solve { n, columns: *inputs[1].dims().get(lead + 1)? }, eliminated),
            Dense::Eigh { upper } | Dense::EigenvaluesSymmetric { upper } if batch > 1 => {
                (Task::Eigen { n, upper }, MOST_ROWS)
            }
            Dense::Qr if half_filled => {
                let shape = reflect::Shape { rows: m, columns: n, of_q: of_output(0, 1), of_r: of_output(1, 0) };
                (Task::Qr(shape), FULL_ROWS)
            }
            Dense::QrR if half_filled => {
                (Task::Qr(reflect::Shape { rows: m, columns: n, of_q: 0, of_r: of_output(0, 0) }), FULL_ROWS)
            }
            Dense::Svd | Dense::SingularValues if half_filled => {
                let wide = m < n;
                let left = if what == Dense::SingularValues {
                    0
                } else if wide {
                    of_output(2, 0)
                } else {
                    of_output(0, 1)
                };
                (Task::Svd { shape: svd::Shape { rows: m.max(n), columns: m.min(n), left }, wide }, FULL_ROWS)
            }
            _ => return None,
        };
        let columns = if let Task::Solve { columns, .. } = task { columns } else { 0 };
        let fits = m.min(n) > 0 && m.max(n).max(columns) <= most;
        (fits && (square || matches!(task, Task::Qr(_) | Task::Svd { .. }))).then_some(task)
    }

    /// Vectors of working memory.
    pub fn room(self) -> usize {
        match self {
            Task::LogDet { n } => n * n + 3,
            Task::Solve { n, columns } => n * (n + columns),
            Task::Cholesky { n } => n * n,
            Task::Eigen { n, .. } => symmetric::room(n),
            Task::Qr(shape) => shape.room(),
            Task::Svd { shape, .. } => shape.room(),
        }
    }

    /// What a matrix costs, in elements of a plain loop, where a vector has 16 lanes.
    pub fn work(self) -> usize {
        let operations = match self {
            Task::LogDet { n } | Task::Cholesky { n } => n * n * n,
            Task::Solve { n, columns } => n * n * (n + columns),
            Task::Eigen { n, .. } => 20 * n * n * n,
            Task::Qr(shape) => 4 * shape.rows * shape.columns * shape.columns,
            Task::Svd { shape, .. } => 60 * shape.rows * shape.columns * shape.columns,
        };
        operations / 16 + 4 * self.room() + 4
    }

    /// The places of tensors.
    pub fn places(self, inputs: &[&Meta], outputs: &[&Meta]) -> Places {
        let lead = inputs[0].rank() - 2;
        let turned = |meta: &&Meta, turn: bool| {
            let place = Place::new(meta, lead);
            if turn { place.transposed() } else { place }
        };
        let (of_a, of_outputs) = match self {
            Task::Eigen { upper, .. } => (upper, false),
            Task::Qr(_) => (true, true),
            Task::Svd { wide, .. } => (!wide, false),
            _ => (false, false),
        };
        Places {
            a: turned(&inputs[0], of_a),
            b: matches!(self, Task::Solve { .. }).then(|| turned(&inputs[1], false)),
            outputs: outputs.iter().map(|meta| turned(meta, of_outputs)).collect(),
        }
    }

    /// Computes from what was read to the beginning of the room, `A` and then `B`, and writes the results: the lanes that have none, and why.
    ///
    /// # Safety
    /// As [`layout::write`], of the outputs; the room is for as many vectors as [`Task::room`] says.
    #[inline(always)]
    pub unsafe fn run<V: Vector>(
        self,
        places: &[Place],
        to: [*mut V::Elem; 3],
        chosen: Chosen,
        room: &mut [V],
    ) -> [(u32, Failure); 2] {
        let none = (0, Failure::Singular);
        // SAFETY: as the caller says.
        unsafe {
            match self {
                Task::LogDet { n } => {
                    let (a, result) = room.split_at_mut(n * n);
                    eliminate::log_determinant(a, n, result);
                    layout::write(&places[0], to[0], chosen, result);
                    layout::write(&places[1], to[1], chosen, &result[2..]);
                    [none; 2]
                }
                Task::Solve { n, columns } => {
                    let (a, b) = room.split_at_mut(n * n);
                    let singular = eliminate::solve(a, b, n, columns);
                    layout::write(&places[0], to[0], chosen, b);
                    [(singular, Failure::Singular), none]
                }
                Task::Cholesky { n } => {
                    let bad = eliminate::cholesky(room, n);
                    layout::write(&places[0], to[0], chosen, room);
                    [(bad, Failure::NotPositiveDefinite), none]
                }
                Task::Qr(shape) => {
                    let found = reflect::qr(room, shape);
                    for (i, from) in [found.q, found.r].into_iter().skip(2 - places.len()).enumerate() {
                        layout::write(&places[i], to[i], chosen, from);
                    }
                    [none; 2]
                }
                Task::Eigen { n, .. } => {
                    let found = symmetric::eigen(room, n, places.len() > 1);
                    for lane in 0..chosen.1 {
                        let (order, at) = (layout::ascending(found.values, lane), (chosen.0 + lane, lane));
                        layout::write_lane((&places[0], to[0]), at, found.values, |i, _| order[i]);
                        if let Some(place) = places.get(1) {
                            layout::write_lane((place, to[1]), at, found.vectors, |i, j| i * n + order[j]);
                        }
                    }
                    [(found.not_finite, Failure::NotFinite), (found.not_converged, Failure::NotConverged)]
                }
                Task::Svd { shape, wide } => {
                    let found = svd::svd(room, shape);
                    write_svd(&found, shape, wide, (places, to), chosen);
                    [(found.not_finite, Failure::NotFinite), (found.not_converged, Failure::NotConverged)]
                }
            }
        }
    }
}

/// Writes singular values in descending order and, if there are places for them, vectors in the same.
///
/// # Safety
/// As [`layout::write`], of the outputs.
#[inline(always)]
unsafe fn write_svd<V: Vector>(
    found: &svd::Svd<'_, V>,
    svd::Shape { rows, columns, .. }: svd::Shape,
    wide: bool,
    (places, to): (&[Place], [*mut V::Elem; 3]),
    chosen: Chosen,
) {
    let [long, short] = [(found.left, rows), (found.right, columns)];
    // Of wide matrices, the transposes have been turned.
    let [(u, of_u), (v, of_v)] = if wide { [short, long] } else { [long, short] };
    let values = places.len() / 2;
    for lane in 0..chosen.1 {
        let (mut order, at) = (layout::ascending(found.values, lane), (chosen.0 + lane, lane));
        order[..columns].reverse();
        // SAFETY: as the caller says.
        unsafe {
            layout::write_lane((&places[values], to[values]), at, found.values, |i, _| order[i]);
            if let [of_left, _, of_right] = places {
                layout::write_lane((of_left, to[0]), at, u, |i, j| order[j] * of_u + i);
                layout::write_lane((of_right, to[2]), at, v, |i, j| order[i] * of_v + j);
            }
        }
    }
}
