//! Every operator's samples on global tensors, whatever the distributions of their inputs: one process's values and gradients.

use std::sync::{Arc, LazyLock};

use opforge::autograd::{BackwardOptions, grad};
use opforge::declaration::{Array, Content, Definition, Sample};
use opforge::registry::operators;
use opforge::{DType, Device, Result, Scalar, Tensor};
use opforge_dist::global::{World, distribute};
use opforge_dist::{Distribution, Guard, Reduction, Sbp, Settings, Threads};

/// How many choices of distributions a sample is tried with. `OPFORGE_CHOICES=1000 cargo test --release -p opforge-dist --test samples` tries nearly all.
static MOST: LazyLock<usize> =
    LazyLock::new(|| std::env::var("OPFORGE_CHOICES").ok().and_then(|text| text.parse().ok()).unwrap_or(3));

fn tensor(array: &Array, real: DType) -> Tensor {
    let dtype = match array.content {
        Content::Real => real,
        Content::Index => DType::I64,
        Content::Truth => DType::Bool,
    };
    Tensor::from_vec(array.data.clone(), &array.shape[..], &Device::Cpu).unwrap().to_dtype(dtype).unwrap()
}

/// The outputs, and the gradients of the sum of the real ones with respect to real inputs.
fn with_gradients(sample: &Sample, given: &[Tensor]) -> Result<Vec<Tensor>> {
    for x in given.iter().filter(|x| sample.smooth && x.dtype().is_float()) {
        x.set_requires_grad(true)?;
    }
    let mut results: Vec<Tensor> = sample.call(&given.iter().collect::<Vec<_>>())?.into_vec();
    let roots: Vec<(Tensor, Option<Tensor>)> = results
        .iter()
        .filter(|y| y.requires_grad() && y.dtype().is_float())
        .map(|y| Ok((y.clone(), Some(y.ones_like()?))))
        .collect::<Result<_>>()?;
    let leaves: Vec<&Tensor> = given.iter().filter(|x| x.requires_grad()).collect();
    if !roots.is_empty() {
        results.extend(grad(&roots, &leaves, BackwardOptions::default())?.into_iter().flatten());
    }
    results.iter().map(|result| result.detach().to_device(&Device::Cpu)).collect()
}

type Values = (DType, Vec<usize>, Vec<Scalar>);

fn values(tensors: &[Tensor]) -> Result<Vec<Values>> {
    tensors.iter().map(|t| Ok((t.dtype(), t.dims().to_vec(), t.to_scalars()?))).collect()
}

fn is_near(a: Scalar, b: Scalar, dtype: DType) -> bool {
    let tolerance = match dtype {
        DType::F64 | DType::C128 => 1e-9,
        DType::F16 | DType::BF16 => 2e-2,
        _ => 1e-4,
    };
    let near = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * (1.0 + b.abs());
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => near(a, b),
        (a, b) => format!("{a:?}") == format!("{b:?}"),
    }
}

fn are_near(got: &[Values], wanted: &[Values]) -> bool {
    got.len() == wanted.len()
        && got
            .iter()
            .zip(wanted)
            .all(|(a, b)| (a.0, &a.1) == (b.0, &b.1) && a.2.iter().zip(&b.2).all(|(&x, &y)| is_near(x, y, a.0)))
}

/// Ways in which inputs may lie: all of them, or so many that are spread over all.
fn choices(inputs: &[Tensor], dims: usize) -> Vec<Vec<Vec<Sbp>>> {
    let of = |input: &Tensor| -> Vec<Sbp> {
        let partial = input.dtype().is_float().then_some(Sbp::Partial(Reduction::Sum));
        [Sbp::Broadcast].into_iter().chain((0..input.rank()).map(Sbp::Split)).chain(partial).collect()
    };
    let slots: Vec<Vec<Sbp>> = inputs.iter().flat_map(|input| vec![of(input); dims]).collect();
    let count: usize = slots.iter().map(Vec::len).product();
    let step = if count <= *MOST { 1 } else { (count / *MOST) | 1 };
    let nth = |mut n: usize| {
        let mut one = |slot: &Vec<Sbp>| {
            let sbp = slot[n % slot.len()];
            n /= slot.len();
            sbp
        };
        let all: Vec<Sbp> = slots.iter().map(&mut one).collect();
        all.chunks(dims).map(<[Sbp]>::to_vec).collect()
    };
    (0..count).step_by(step).map(nth).collect()
}

/// What each rank gets of a sample under each choice of distributions, up to the first that fails.
fn try_choices(
    sample: &Sample,
    mesh: &str,
    ranks: usize,
    inputs: &[Tensor],
    all: &[Vec<Vec<Sbp>>],
) -> Vec<Vec<Result<Vec<Values>>>> {
    let results = Threads::run(ranks, |engine| {
        let guard = Arc::new(Guard::new(engine, Settings::default()));
        let try_one = |sbp: &Vec<Vec<Sbp>>| {
            let spread = |(input, sbp): (&Tensor, &Vec<Sbp>)| {
                distribute(&input.detach(), &Distribution::new(mesh.parse()?, sbp)?).map(|t| t.detach())
            };
            let given = inputs.iter().zip(sbp).map(spread).collect::<Result<Vec<_>>>()?;
            with_gradients(sample, &given).and_then(|results| values(&results))
        };
        let mut results = Vec::new();
        for sbp in all {
            results.push(World::new(guard.clone()).run(|| try_one(sbp)));
            if let Some(Err(error)) = results.last() {
                guard.abort(error);
                break;
            }
        }
        Ok(results)
    });
    results.into_iter().map(|rank| rank.unwrap_or_else(|error| vec![Err(error)])).collect()
}

fn check(definition: &Definition, mesh: &str, ranks: usize, failures: &mut Vec<String>) -> usize {
    let mut cases = 0;
    let real = [DType::F64, DType::F32].into_iter().find(|&dtype| definition.dtypes.contains(dtype));
    let Some(real) = real.or(definition.dtypes.iter().next()) else { return 0 };
    for sample in (definition.samples)().iter().filter(|sample| !sample.inputs.is_empty()) {
        let inputs: Vec<Tensor> = sample.inputs.iter().map(|array| tensor(array, real)).collect();
        let alone = || {
            let own: Vec<Tensor> = inputs.iter().map(Tensor::detach).collect();
            with_gradients(sample, &own).and_then(|results| values(&results))
        };
        let (wanted, again) = match (alone(), alone()) {
            (Ok(wanted), Ok(again)) => (wanted, again),
            (Err(error), _) | (_, Err(error)) => {
                failures.push(format!("{}: {sample:?} alone: {error}", definition.name));
                continue;
            }
        };
        if !are_near(&wanted, &again) {
            continue; // Drawn at random.
        }
        let dims = mesh.matches("[[").count() + 1;
        let all = choices(&inputs, dims);
        cases += all.len();
        for (rank, results) in try_choices(sample, mesh, ranks, &inputs, &all).into_iter().enumerate() {
            for (got, sbp) in results.into_iter().zip(&all) {
                if let Some(wrong) = difference(got, &wanted) {
                    failures.push(format!("{}: {sample:?} {mesh} {sbp:?} rank {rank}: {wrong}", definition.name));
                }
            }
        }
    }
    cases
}

fn difference(got: Result<Vec<Values>>, wanted: &[Values]) -> Option<String> {
    let got = match got {
        Ok(got) if are_near(&got, wanted) => return None,
        Ok(got) => got,
        Err(error) => return Some(error.to_string()),
    };
    let differs = got.iter().zip(wanted).position(|(a, b)| !are_near(std::slice::from_ref(a), std::slice::from_ref(b)));
    let show = |all: &[Values]| differs.map(|i| format!("{:?}", all[i]));
    Some(format!("result {differs:?} is {:.1000?}, not {:.1000?}", show(&got), show(wanted)))
}

fn check_all(mesh: &str, ranks: usize) {
    let (only, mut failures, mut cases) = (std::env::var("OPFORGE_OPERATOR").ok(), Vec::new(), 0);
    for definition in operators() {
        if only.as_deref().is_none_or(|only| only == definition.name) {
            cases += check(definition, mesh, ranks, &mut failures);
        }
    }
    assert!(cases > 0 || !failures.is_empty(), "no case was tried");
    assert!(failures.is_empty(), "{} of {cases} cases failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn on_one_rank() {
    check_all("cpu[0]", 1);
}

#[test]
fn on_two_ranks() {
    check_all("cpu[0, 1]", 2);
}

#[test]
fn on_three_ranks() {
    check_all("cpu[0, 1, 2]", 3);
}

#[test]
fn on_a_mesh_of_four_ranks() {
    check_all("cpu[[0, 1], [2, 3]]", 4);
}
