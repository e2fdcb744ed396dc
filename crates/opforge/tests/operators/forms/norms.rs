//! Means, variances, and elements less the ones over the roots of the others.

use opforge::declaration::{Array, each_index};
use opforge_tile::forms::{Normalize, Over, Spread};

pub fn spread(form: &Spread, x: &Array, shape: &[usize]) -> Array {
    let keeps = shape.len() == x.shape.len();
    Array::from_fn(shape, |at| {
        let mut group = Vec::new();
        each_index(&x.shape, |index| {
            let own = |d: &usize| !form.axes.contains(d);
            let place = (0..index.len()).filter(|d| keeps || own(d)).map(|d| if own(&d) { index[d] } else { 0 });
            if place.eq(at.iter().copied()) {
                group.push(x.at(index));
            }
        });
        let [_, square] = moments(&group);
        let variance = square * group.len() as f64 / (group.len() as f64 - form.correction.to_f64()).max(0.0);
        if form.root { variance.sqrt() } else { variance }
    })
}

/// Mean and variance of the population.
fn moments(x: &[f64]) -> [f64; 2] {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    [mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64]
}

pub fn normalize(form: Normalize, x: &[Array]) -> Vec<Array> {
    let shape = &x[0].shape;
    match form {
        Normalize::Rows { eps } => forward(&x[0], Sets::rows(shape), [x.get(1), x.get(2)], eps.to_f64(), Kind::Rows),
        Normalize::RootMeanSquare { eps } => {
            forward(&x[0], Sets::rows(shape), [x.get(1), None], eps.to_f64(), Kind::RootMeanSquare)
        }
        Normalize::Sets { over, eps } => {
            forward(&x[0], Sets::of(shape, over), [x.get(1), x.get(2)], eps.to_f64(), Kind::Sets)
        }
        Normalize::RowsGradient => {
            gradient(x, Sets::rows(shape), [x[2].data.clone(), x[3].data.clone()], x.get(4), Kind::Rows)
        }
        Normalize::RootMeanSquareGradient => {
            let means = vec![0.0; x[2].data.len()];
            gradient(x, Sets::rows(shape), [means, x[2].data.clone()], x.get(3), Kind::RootMeanSquare)
        }
        Normalize::SetsGradient { over, eps } => {
            let rstd = x[3].data.iter().map(|var| 1.0 / (var + eps.to_f64()).sqrt()).collect();
            gradient(x, Sets::of(shape, over), [x[2].data.clone(), rstd], x.get(4), Kind::Sets)
        }
        Normalize::Channels => {
            vec![Array::from_fn(shape, |at| {
                let number = |i: usize| x[i].data[at[1]];
                (x[0].at(at) - number(1)) * number(2) + number(3)
            })]
        }
    }
}

/// To which set each element belongs, and which parameter it has; in row-major order.
struct Sets {
    set: Vec<usize>,
    parameter: Vec<usize>,
    /// The slots of sums that gradients of parameters are made of.
    slot: Vec<usize>,
}

impl Sets {
    fn rows(shape: &[usize]) -> Self {
        let n = shape[shape.len() - 1];
        let count: usize = shape.iter().product();
        let parameter: Vec<usize> = (0..count).map(|i| i % n).collect();
        Sets { set: (0..count).map(|i| i / n).collect(), slot: parameter.clone(), parameter }
    }

    fn of(shape: &[usize], over: Over) -> Self {
        let (channels, plane) = (shape[1], shape[2..].iter().product::<usize>());
        let elements = 0..shape.iter().product();
        let parameter: Vec<usize> = elements.clone().map(|i: usize| i / plane % channels).collect();
        match over {
            Over::Batch => Sets { set: parameter.clone(), slot: parameter.clone(), parameter },
            Over::Groups(groups) => Sets {
                set: elements.clone().map(|i| i / (plane * (channels / groups))).collect(),
                slot: elements.map(|i| i / plane).collect(),
                parameter,
            },
        }
    }

    fn members(&self, x: &Array) -> Vec<Vec<f64>> {
        let mut members = vec![Vec::new(); self.set.last().map_or(0, |_| 1 + self.set.iter().max().unwrap())];
        self.set.iter().zip(&x.data).for_each(|(&set, &x)| members[set].push(x));
        members
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Rows,
    RootMeanSquare,
    Sets,
}

fn forward(x: &Array, sets: Sets, [weight, bias]: [Option<&Array>; 2], eps: f64, kind: Kind) -> Vec<Array> {
    let statistics: Vec<[f64; 2]> = sets
        .members(x)
        .iter()
        .map(|members| match kind {
            Kind::RootMeanSquare => [0.0, members.iter().map(|x| x * x).sum::<f64>() / members.len() as f64],
            _ => moments(members),
        })
        .collect();
    let rstd = |variance: f64| 1.0 / (variance + eps).sqrt();
    let y = (0..x.data.len()).map(|i| {
        let [mean, variance] = statistics[sets.set[i]];
        let parameter = sets.parameter[i];
        (x.data[i] - mean) * rstd(variance) * weight.map_or(1.0, |w| w.data[parameter])
            + bias.map_or(0.0, |b| b.data[parameter])
    });
    let mut outputs = vec![Array::new(&x.shape, y.collect())];
    let numbers = |f: &dyn Fn(&[f64; 2]) -> f64| {
        let data: Vec<f64> = statistics.iter().map(f).collect();
        Array::new(&[data.len()], data)
    };
    if kind != Kind::RootMeanSquare {
        outputs.push(numbers(&|s| s[0]));
    }
    outputs.push(numbers(&|s| if kind == Kind::Sets { s[1] } else { rstd(s[1]) }));
    outputs
}

fn gradient(x: &[Array], sets: Sets, [mean, rstd]: [Vec<f64>; 2], weight: Option<&Array>, kind: Kind) -> Vec<Array> {
    let (x, dy) = (&x[0], &x[1]);
    let count = x.data.len();
    let h: Vec<f64> = (0..count).map(|i| (x.data[i] - mean[sets.set[i]]) * rstd[sets.set[i]]).collect();
    let g: Vec<f64> = (0..count).map(|i| dy.data[i] * weight.map_or(1.0, |w| w.data[sets.parameter[i]])).collect();
    let mean_of = |terms: Vec<f64>| -> Vec<f64> {
        let members = sets.members(&Array::new(&[count], terms));
        members.iter().map(|m| m.iter().sum::<f64>() / m.len() as f64).collect()
    };
    let of_g = if kind == Kind::RootMeanSquare { vec![0.0; rstd.len()] } else { mean_of(g.clone()) };
    let of_gh = mean_of(g.iter().zip(&h).map(|(g, h)| g * h).collect());
    let dx = (0..count).map(|i| {
        let set = sets.set[i];
        rstd[set] * (g[i] - of_g[set] - h[i] * of_gh[set])
    });
    let mut sums = [vec![0.0; 1 + sets.slot.iter().max().copied().unwrap_or(0)], Vec::new()];
    sums[1] = sums[0].clone();
    for (i, &slot) in sets.slot.iter().enumerate() {
        sums[0][slot] += dy.data[i] * h[i];
        sums[1][slot] += dy.data[i];
    }
    let [weights, biases] = sums.map(|data| Array::new(&[data.len()], data));
    vec![Array::new(&x.shape, dx.collect()), weights, biases]
}
