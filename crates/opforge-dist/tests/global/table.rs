//! The table of boxing in the documentation is that of the planner.

use opforge_core::{DType, Shape};
use opforge_dist::{Costs, DeviceKind, Distribution, Placement, Plan, Reduction, Sbp};

const SUM: Sbp = Sbp::Partial(Reduction::Sum);

/// Bytes as a part of the tensor's: each rank receives so much on average.
fn share(bytes: u64, ranks: usize, tensor: usize) -> String {
    format!("{:.3} L", bytes as f64 / ranks as f64 / tensor as f64)
}

fn line(from: &Distribution, to: &Distribution) -> String {
    let shape = Shape::from_dims(&[1024, 1024]);
    let tensor = shape.elem_count() * 4;
    let plan = Plan::new(DType::F32, shape, from.clone(), to.clone(), &Costs::default()).unwrap();
    let steps: Vec<String> = plan.steps().iter().map(|step| step.change.to_string()).collect();
    let steps = if steps.is_empty() { "nothing".to_owned() } else { steps.join(", ") };
    let name = |of: &Distribution| of.sbp().iter().map(Sbp::to_string).collect::<Vec<_>>().join(", ");
    format!(
        "| {} | {} | {steps} | {} |",
        name(from),
        name(to),
        share(plan.bytes(), to.placement().ranks().len(), tensor)
    )
}

fn table(title: &str, pairs: &[(Distribution, Distribution)]) -> String {
    let lines: Vec<String> = pairs.iter().map(|(from, to)| line(from, to)).collect();
    format!("{title}\n\n| from | to | steps | bytes a rank receives |\n|---|---|---|---|\n{}\n", lines.join("\n"))
}

fn on(mesh: &[usize], first: usize, sbp: &[Sbp]) -> Distribution {
    let ranks: Vec<usize> = (first..first + mesh.iter().product::<usize>()).collect();
    Distribution::new(Placement::new(DeviceKind::Cpu, mesh, &ranks).unwrap(), sbp).unwrap()
}

fn tables() -> String {
    let values = [Sbp::Split(0), Sbp::Split(1), Sbp::Broadcast, SUM];
    let pair = |from: Sbp, to: Sbp| (on(&[4], 0, &[from]), on(&[4], 0, &[to]));
    let row: Vec<_> =
        values.into_iter().flat_map(|from| values.map(|to| pair(from, to))).filter(|(a, b)| a != b).collect();
    let (s0, s1, b) = (Sbp::Split(0), Sbp::Split(1), Sbp::Broadcast);
    let mesh = [
        ([SUM, SUM], [b, b]),
        ([SUM, SUM], [s0, s1]),
        ([s0, s0], [b, s0]),
        ([s0, s0], [s1, s1]),
        ([s0, s1], [s1, s0]),
        ([s0, SUM], [b, b]),
        ([b, s0], [s0, b]),
        ([SUM, s0], [s0, SUM]),
        ([b, b], [SUM, s1]),
    ];
    let mesh: Vec<_> = mesh.iter().map(|(from, to)| (on(&[2, 2], 0, from), on(&[2, 2], 0, to))).collect();
    let across = |from: Sbp, to: Sbp| (on(&[2], 0, &[from]), on(&[4], 2, &[to]));
    let across: Vec<_> = values.into_iter().flat_map(|from| values.map(|to| across(from, to))).collect();
    [
        table("Four ranks:", &row),
        table("A mesh of 2 by 2 ranks, some pairs:", &mesh),
        table("From ranks 0 and 1 to ranks 2 to 5:", &across),
    ]
    .join("\n")
}

#[test]
fn the_documentation_has_the_planners_table() {
    let page = include_str!("../../../../docs/distributed.md");
    let tables = tables();
    assert!(page.contains(&tables), "docs/distributed.md should have:\n\n{tables}");
}
