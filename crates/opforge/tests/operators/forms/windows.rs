//! Elements made of those under windows.

use opforge::Meta;
use opforge::declaration::{Array, each_index};
use opforge_tile::forms::{Average, Divisor, Filter, Geometry, MAX_SPATIAL, Part, Stretch, Window, Windowed, Windows};

use super::samples::sample;

/// Planes of three dimensions, one after the other.
struct Planes<'a> {
    x: &'a Array,
    lengths: [usize; MAX_SPATIAL],
}

fn lengths(shape: &[usize], spatial: usize) -> [usize; MAX_SPATIAL] {
    let mut all = [1; MAX_SPATIAL];
    all[MAX_SPATIAL - spatial..].copy_from_slice(&shape[shape.len() - spatial..]);
    all
}

fn flat(index: &[usize], lengths: [usize; MAX_SPATIAL]) -> usize {
    index.iter().zip(lengths).fold(0, |flat, (&i, len)| flat * len + i)
}

impl<'a> Planes<'a> {
    fn new(x: &'a Array, spatial: usize) -> Self {
        Planes { x, lengths: lengths(&x.shape, spatial) }
    }
    fn plane(&self, plane: usize) -> &[f64] {
        let size = self.lengths.iter().product::<usize>();
        &self.x.data[plane * size..(plane + 1) * size]
    }
    fn count(&self) -> usize {
        self.x.data.len() / self.lengths.iter().product::<usize>().max(1)
    }
}

/// The position that window element `k` has for output `t`, if it is within the input.
fn position(window: &Window, t: usize, k: usize, len: usize) -> Option<usize> {
    (t * window.stride + k * window.dilation).checked_sub(window.padding).filter(|&at| at < len)
}

/// The positions of one dimension under a window, in order; and how many count as covered.
fn under(windows: &Windows, d: usize, [from, to]: [usize; 2], t: usize) -> (Vec<usize>, usize) {
    match windows {
        Windows::Sliding { kernel, windows } => {
            let window = &windows[d];
            let inside = (0..kernel[d]).filter_map(|k| position(window, t, k, from)).collect();
            // Windows may reach into the padding, not beyond it.
            let begin = t * window.stride;
            (inside, (begin + kernel[d]).min(from + 2 * window.padding) - begin)
        }
        Windows::Adaptive => {
            let inside: Vec<usize> = (t * from / to..((t + 1) * from).div_ceil(to)).collect();
            let count = inside.len();
            (inside, count)
        }
    }
}

/// Calls `f` with each pair of an output's index and an input's under its window.
fn each_pair(windows: &Windows, from: [usize; 3], to: [usize; 3], mut f: impl FnMut(&[usize], &[usize])) {
    each_index(&to, |y| {
        let [a, b, c] = std::array::from_fn(|d| under(windows, d, [from[d], to[d]], y[d]).0);
        a.iter().for_each(|&a| b.iter().for_each(|&b| c.iter().for_each(|&c| f(y, &[a, b, c]))));
    });
}

fn divisor(average: &Average, from: [usize; 3], to: [usize; 3], y: &[usize]) -> f64 {
    let product = |f: &dyn Fn(usize) -> usize| (0..MAX_SPATIAL).map(f).product::<usize>() as f64;
    let of = |d: usize| under(&average.windows, d, [from[d], to[d]], y[d]);
    match average.divisor {
        Divisor::Padded => product(&|d| of(d).1),
        Divisor::Inside => product(&|d| of(d).0.len()),
        Divisor::Number(n) => n as f64,
    }
}

pub fn windowed(form: &Windowed, x: &[Array], outputs: &[Meta]) -> Vec<Array> {
    let shape = outputs[0].dims();
    match form {
        Windowed::Convolution { geometry, part } => vec![convolution(geometry, *part, x, shape)],
        &Windowed::Average { ref average, spatial, gradient } => {
            let of = Planes::new(&x[0], spatial);
            let (own, other) = (of.lengths, lengths(shape, spatial));
            let (from, to) = if gradient { (other, own) } else { (own, other) };
            vec![map_planes(&of, shape, other, |plane, out| {
                each_pair(&average.windows, from, to, |y, at| {
                    let share = 1.0 / divisor(average, from, to, y);
                    let (read, write) =
                        if gradient { (flat(y, to), flat(at, from)) } else { (flat(at, from), flat(y, to)) };
                    out[write] += plane[read] * share;
                });
            })]
        }
        &Windowed::Greatest { ref windows, spatial } => {
            greatest(windows, &Planes::new(&x[0], spatial), outputs, spatial)
        }
        &Windowed::Spread { spatial, .. } => {
            let (of, places) = (Planes::new(&x[0], spatial), Planes::new(&x[1], spatial));
            let mut number = 0;
            vec![map_planes(&of, shape, lengths(shape, spatial), |plane, out| {
                for (element, &place) in plane.iter().zip(places.plane(number)) {
                    out[place as usize] += element;
                }
                number += 1;
            })]
        }
        &Windowed::Sample { sampling, part } => vec![sample(sampling, part, x, shape)],
        &Windowed::Resample { ref how, spatial, gradient } => {
            let of = Planes::new(&x[0], spatial);
            let (own, other) = (of.lengths, lengths(shape, spatial));
            let (from, to) = if gradient { (other, own) } else { (own, other) };
            vec![map_planes(&of, shape, other, |plane, out| {
                each_index(&to, |new| {
                    each_index(&from, |old| {
                        let weight: f64 = (0..3).map(|d| weight(&how[d], [from[d], to[d]], new[d], old[d])).product();
                        let (read, write) =
                            if gradient { (flat(new, to), flat(old, from)) } else { (flat(old, from), flat(new, to)) };
                        out[write] += plane[read] * weight;
                    });
                });
            })]
        }
    }
}

/// Planes made of planes.
fn map_planes(x: &Planes, shape: &[usize], to: [usize; 3], mut f: impl FnMut(&[f64], &mut [f64])) -> Array {
    let size: usize = to.iter().product();
    let mut y = Array::from_fn(shape, |_| 0.0);
    for (i, out) in y.data.chunks_mut(size.max(1)).enumerate() {
        f(x.plane(i), out);
    }
    y
}

fn greatest(windows: &Windows, x: &Planes, outputs: &[Meta], spatial: usize) -> Vec<Array> {
    let (shape, to) = (outputs[0].dims(), lengths(outputs[0].dims(), spatial));
    let (mut values, mut places) = (Array::from_fn(shape, |_| f64::NEG_INFINITY), Array::from_fn(shape, |_| -1.0));
    let size: usize = to.iter().product();
    for i in 0..x.count() {
        each_pair(windows, x.lengths, to, |y, at| {
            let (y, at) = (i * size + flat(y, to), flat(at, x.lengths));
            let (new, old) = (x.plane(i)[at], values.data[y]);
            if places.data[y] < 0.0 || new > old || (new.is_nan() && !old.is_nan()) {
                (values.data[y], places.data[y]) = (new, at as f64);
            }
        });
    }
    let mut all = vec![values, places];
    all.truncate(outputs.len());
    all
}

/// Every product of an element of the weight and one of the input belongs to one element of the output.
fn convolution(geometry: &Geometry, part: Part, given: &[Array], shape: &[usize]) -> Array {
    let shapes: [&[usize]; 3] = match part {
        Part::Output => [&given[0].shape, &given[1].shape, shape],
        Part::Input => [shape, &given[1].shape, &given[0].shape],
        Part::Weight => [&given[0].shape, shape, &given[1].shape],
    };
    let [x, w, y] = shapes;
    let spatial = x.len() - 2;
    let [x_lengths, k_lengths, y_lengths] = shapes.map(|shape| lengths(shape, spatial));
    let size = |lengths: [usize; 3]| lengths.iter().product::<usize>();
    let (channels, outputs) = (w[1], w[0] / geometry.groups);
    let mut result = Array::from_fn(shape, |_| 0.0);
    if let (Some(bias), true) = (given.get(2), part != Part::Weight) {
        result = Array::from_fn(shape, |index| bias.at(&index[1..2]));
    }
    each_index(&[x[0], geometry.groups, outputs, channels], |index| {
        let &[n, g, o, c] = index else { unreachable!("four indices") };
        each_index(&y_lengths, |t| {
            each_index(&k_lengths, |k| {
                let at = |d: usize| position(&geometry.windows[d], t[d], k[d], x_lengths[d]);
                let (Some(a), Some(b), Some(d)) = (at(0), at(1), at(2)) else { return };
                let in_x = (n * x[1] + g * channels + c) * size(x_lengths) + flat(&[a, b, d], x_lengths);
                let in_w = ((g * outputs + o) * channels + c) * size(k_lengths) + flat(k, k_lengths);
                let in_y = (n * y[1] + g * outputs + o) * size(y_lengths) + flat(t, y_lengths);
                match part {
                    Part::Output => result.data[in_y] += given[0].data[in_x] * given[1].data[in_w],
                    Part::Input => result.data[in_x] += given[0].data[in_y] * given[1].data[in_w],
                    Part::Weight => result.data[in_w] += given[0].data[in_x] * given[1].data[in_y],
                }
            });
        });
    });
    result
}

/// What new element `i` takes of old element `j`.
fn weight(how: &Stretch, [from, to]: [usize; 2], i: usize, j: usize) -> f64 {
    let scale = match how.corners {
        true if to > 1 => (from - 1) as f64 / (to - 1) as f64,
        true => 0.0,
        false => how.scale.to_f64(),
    };
    let place = if how.corners { i as f64 * scale } else { (i as f64 + 0.5) * scale - 0.5 };
    let cubic = |x: f64, a: f64| match x.abs() {
        x if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        x if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
        _ => 0.0,
    };
    let line = |x: f64| (1.0 - x.abs()).max(0.0);
    // Elements beyond the border are those at the border.
    let bordered = |place: f64, filter: &dyn Fn(f64) -> f64| -> f64 {
        let at = |k: i64| if k.clamp(0, from as i64 - 1) == j as i64 { filter(place - k as f64) } else { 0.0 };
        (-3..from as i64 + 3).map(at).sum()
    };
    // A filter over all that becomes one element; its weights within the border sum to 1.
    let stretched = |filter: &dyn Fn(f64) -> f64| {
        let (width, centre) = (scale.max(1.0), scale * (i as f64 + 0.5));
        let at = |j: usize| filter((j as f64 - centre + 0.5) / width);
        at(j) / (0..from).map(at).sum::<f64>()
    };
    match how.filter {
        Filter::Nearest => f64::from(((i as f64 * scale) as usize).min(from - 1) == j),
        Filter::NearestExact => f64::from((((i as f64 + 0.5) * scale) as usize).min(from - 1) == j),
        Filter::Linear => bordered(place.max(0.0), &line),
        Filter::Cubic => bordered(place, &|x| cubic(x, -0.75)),
        Filter::Triangle => stretched(&line),
        Filter::SmoothCubic => stretched(&|x| cubic(x, -0.5)),
    }
}
