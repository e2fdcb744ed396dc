//! Boxing: what comes out is what the definition says, for all pairs; and the routes are the cheapest.

use opforge_core::{DType, Shape};
use opforge_dist::{Change, Costs, Distribution, Plan, Reduction, Sbp};
use proptest::prelude::*;

use crate::definition::{Pair, Tensor, check_all, distribution};

const SUM: Sbp = Sbp::Partial(Reduction::Sum);
const MAX: Sbp = Sbp::Partial(Reduction::Max);

fn tensor(dtype: DType, dims: &[usize]) -> Tensor {
    Tensor { dtype, shape: Shape::from_dims(dims) }
}

fn pairs(all: &[Distribution]) -> Vec<Pair> {
    all.iter().flat_map(|from| all.iter().map(move |to| (from.clone(), to.clone()))).collect()
}

#[test]
fn all_pairs_on_a_row() {
    let reductions = [Reduction::Sum, Reduction::Product, Reduction::Max, Reduction::Min].map(Sbp::Partial);
    let values: Vec<Sbp> = [Sbp::Split(0), Sbp::Split(1), Sbp::Broadcast].into_iter().chain(reductions).collect();
    for ranks in 1..=3 {
        let row: Vec<usize> = (0..ranks).collect();
        let all: Vec<_> = values.iter().map(|&sbp| distribution(&[ranks], &row, &[sbp])).collect();
        // Lengths that do not divide, shorter than the mesh, and 0.
        for dims in [[5, 4], [2, 7], [1, 1], [0, 3]] {
            check_all(ranks, &tensor(DType::I64, &dims), &pairs(&all)).unwrap();
        }
    }
}

#[test]
fn all_pairs_of_bools() {
    let reductions = [Reduction::Any, Reduction::All, Reduction::Max, Reduction::Min].map(Sbp::Partial);
    let values: Vec<Sbp> = [Sbp::Split(0), Sbp::Broadcast].into_iter().chain(reductions).collect();
    let all: Vec<_> = values.iter().map(|&sbp| distribution(&[3], &[0, 1, 2], &[sbp])).collect();
    check_all(3, &tensor(DType::Bool, &[7]), &pairs(&all)).unwrap();
}

#[test]
fn all_pairs_on_a_mesh() {
    let values = [Sbp::Split(0), Sbp::Split(1), Sbp::Broadcast, SUM, MAX];
    let of = |first: Sbp| values.map(|second| distribution(&[2, 2], &[0, 1, 2, 3], &[first, second]));
    let all: Vec<_> = values.into_iter().flat_map(of).collect();
    check_all(4, &tensor(DType::I64, &[5, 3]), &pairs(&all)).unwrap();
}

#[test]
fn scalars() {
    let all = [Sbp::Broadcast, SUM, MAX].map(|sbp| distribution(&[3], &[0, 1, 2], &[sbp]));
    check_all(3, &tensor(DType::F32, &[]), &pairs(&all)).unwrap();
}

/// More than what travels with the guard's records.
#[test]
fn large_parts() {
    let all = [Sbp::Split(0), Sbp::Split(1), Sbp::Broadcast, SUM].map(|sbp| distribution(&[3], &[2, 0, 1], &[sbp]));
    check_all(3, &tensor(DType::F32, &[31, 17]), &pairs(&all)).unwrap();
}

fn any_sbp(axes: usize) -> impl Strategy<Value = Sbp> {
    let partial = prop_oneof![Just(SUM), Just(MAX), Just(Sbp::Partial(Reduction::Product))];
    let mut choices = vec![Just(Sbp::Broadcast).boxed(), partial.boxed()];
    if axes > 0 {
        choices.push((0..axes).prop_map(Sbp::Split).boxed());
        choices.push((0..axes).prop_map(Sbp::Split).boxed());
    }
    proptest::strategy::Union::new(choices)
}

fn any_cube() -> impl Strategy<Value = Distribution> {
    prop::collection::vec(any_sbp(2), 3).prop_map(|sbp| distribution(&[2, 2, 2], &[0, 1, 2, 3, 4, 5, 6, 7], &sbp))
}

/// A mesh of some of five ranks, in any order.
fn any_distribution(axes: usize) -> impl Strategy<Value = Distribution> {
    let meshes = prop::sample::select(vec![
        vec![1],
        vec![2],
        vec![3],
        vec![5],
        vec![2, 2],
        vec![1, 3],
        vec![2, 1],
        vec![2, 1, 2],
    ]);
    let ranks = Just((0..5usize).collect::<Vec<_>>()).prop_shuffle();
    (meshes, ranks).prop_flat_map(move |(mesh, ranks)| {
        let count: usize = mesh.iter().product();
        let sbp = prop::collection::vec(any_sbp(axes), mesh.len());
        sbp.prop_map(move |sbp| distribution(&mesh, &ranks[..count], &sbp))
    })
}

fn any_case() -> impl Strategy<Value = (Tensor, Vec<Pair>)> {
    let dtype = prop_oneof![Just(DType::I64), Just(DType::F32)];
    (dtype, prop::collection::vec(0..6usize, 0..=3)).prop_flat_map(|(dtype, dims)| {
        let pair = (any_distribution(dims.len()), any_distribution(dims.len()));
        (Just(tensor(dtype, &dims)), prop::collection::vec(pair, 1..6))
    })
}

/// The same cases in every run.
fn config(cases: u32) -> ProptestConfig {
    let rng_seed = prop::test_runner::RngSeed::Fixed(17);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(150))]

    /// Any shapes, between any placements.
    #[test]
    fn any_pair_on_any_meshes((tensor, pairs) in any_case()) {
        let result = check_all(5, &tensor, &pairs);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }

}

proptest! {
    #![proptest_config(config(40))]

    /// Three dimensions, where what is inside of what matters most.
    #[test]
    fn any_pair_on_a_cube(
        dims in prop::collection::vec(0..10usize, 2),
        pairs in prop::collection::vec((any_cube(), any_cube()), 5),
    ) {
        let result = check_all(8, &tensor(DType::I64, &dims), &pairs);
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }
}

fn plan(shape: &[usize], from: &Distribution, to: &Distribution) -> Plan {
    Plan::new(DType::F32, Shape::from_dims(shape), from.clone(), to.clone(), &Costs::default()).unwrap()
}

fn changes(plan: &Plan) -> Vec<Change> {
    plan.steps().iter().map(|step| step.change).collect()
}

#[test]
fn one_collective_where_one_does_it() {
    let row = |sbp| distribution(&[4], &[0, 1, 2, 3], &[sbp]);
    let (s0, s1, b, p) = (row(Sbp::Split(0)), row(Sbp::Split(1)), row(Sbp::Broadcast), row(SUM));
    let route = |from: &Distribution, to: &Distribution| {
        let plan = plan(&[64, 64], from, to);
        (plan.steps().len(), plan.bytes())
    };
    let bytes = 64 * 64 * 4;
    assert_eq!(route(&s0, &s0), (0, 0));
    assert_eq!(route(&s0, &b), (1, 3 * bytes));
    assert_eq!(route(&s0, &s1), (1, 3 * bytes / 4));
    assert_eq!(route(&p, &s0), (1, 3 * bytes));
    assert_eq!([&s0, &s1, &p].map(|to| route(&b, to)), [(1, 0); 3]);
    assert_eq!(route(&s0, &p), (1, 0));
}

/// Two all-reduces of all of it would move twice as much along the second dimension.
#[test]
fn a_sum_over_a_mesh_is_scattered_first() {
    let mesh = |sbp| distribution(&[2, 2], &[0, 1, 2, 3], &[sbp, sbp]);
    let plan = plan(&[1024, 1024], &mesh(SUM), &mesh(Sbp::Broadcast));
    assert!(matches!(changes(&plan)[0], Change::ReduceScatter { .. }), "{plan}");
    // Each rank receives one and a half times the tensor, not twice.
    assert_eq!(plan.bytes(), 6 * 4 * 1024 * 1024, "{plan}");
    // Small ones take as few messages as possible.
    let plan = self::plan(&[2], &mesh(SUM), &mesh(Sbp::Broadcast));
    assert!(matches!(changes(&plan)[..], [Change::AllReduce { .. }, Change::AllReduce { .. }]), "{plan}");
}

/// The split within a split cannot stay when the outer one is undone, but no rank need have all of it.
#[test]
fn the_outer_of_two_splits_moves_at_once() {
    let from = distribution(&[2, 2], &[0, 1, 2, 3], &[Sbp::Split(0), Sbp::Split(0)]);
    let to = distribution(&[2, 2], &[0, 1, 2, 3], &[Sbp::Broadcast, Sbp::Split(0)]);
    let plan = plan(&[1024, 1024], &from, &to);
    assert_eq!(changes(&plan), [Change::Move]);
    // Two ranks lack a quarter of the tensor, two lack two quarters.
    assert_eq!(plan.bytes(), 6 * 1024 * 1024);
}

/// One rank has it, all need it: each gets a part, and they exchange those.
#[test]
fn from_one_rank_to_many() {
    let from = distribution(&[1], &[0], &[Sbp::Broadcast]);
    let to = distribution(&[4], &[1, 2, 3, 4], &[Sbp::Broadcast]);
    let plan = plan(&[1024, 1024], &from, &to);
    assert_eq!(changes(&plan), [Change::Move, Change::AllGather { dim: 0, axis: 0 }]);
}

#[test]
fn no_route_is_dearer_than_by_way_of_broadcast() {
    let values = [Sbp::Split(0), Sbp::Split(1), Sbp::Broadcast, SUM, MAX];
    let of = |first: Sbp| values.map(|second| distribution(&[2, 3], &[0, 1, 2, 3, 4, 5], &[first, second]));
    let all: Vec<_> = values.into_iter().flat_map(of).collect();
    let broadcast = distribution(&[2, 3], &[0, 1, 2, 3, 4, 5], &[Sbp::Broadcast; 2]);
    for (from, to) in pairs(&all) {
        for shape in [[1000, 7], [3, 5000]] {
            let direct = plan(&shape, &from, &to).seconds();
            let detour = plan(&shape, &from, &broadcast).seconds() + plan(&shape, &broadcast, &to).seconds();
            assert!(direct <= detour + 1e-12, "{from} to {to}: {direct} s, by way of broadcast {detour} s");
        }
    }
}

#[test]
fn wrong_distributions_are_errors() {
    let row = |sbp| distribution(&[2], &[0, 1], &[sbp]);
    let shape = Shape::from_dims(&[4]);
    let plan = |dtype, from, to| Plan::new(dtype, shape.clone(), from, to, &Costs::default());
    assert!(plan(DType::F32, row(Sbp::Split(1)), row(Sbp::Broadcast)).is_err());
    assert!(plan(DType::Bool, row(SUM), row(Sbp::Broadcast)).is_err());
    assert!(plan(DType::C64, row(Sbp::Broadcast), row(MAX)).is_err());
    let costs = Costs { copy: -1.0, ..Costs::default() };
    assert!(Plan::new(DType::F32, shape.clone(), row(SUM), row(Sbp::Broadcast), &costs).is_err());
    let cuda = Distribution::new("cuda[0, 1]".parse().unwrap(), &[Sbp::Broadcast]).unwrap();
    assert!(plan(DType::F32, row(Sbp::Broadcast), cuda).is_err());
}
