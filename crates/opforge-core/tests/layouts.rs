//! Layouts against a naive model: the list of storage indices that a view shows.

use opforge_core::{ErrorKind, Layout, Result, Shape};
use proptest::prelude::*;

/// A layout's storage indices by multi-index, computed from shape and strides alone.
fn at(layout: &Layout, index: &[usize]) -> usize {
    layout.start_offset() + index.iter().zip(layout.stride()).map(|(i, s)| i * s).sum::<usize>()
}

fn all(layout: &Layout) -> Vec<usize> {
    layout.indices().collect()
}

fn dims() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0usize..5, 0..5)
}

/// A step of a random walk over views; numbers are taken modulo what fits.
#[derive(Debug, Clone)]
enum Step {
    Narrow(usize, usize, usize),
    Slice(usize, usize, usize),
    Transpose(usize, usize),
    Unsqueeze(usize),
    Select(usize, usize),
    Unfold(usize, usize, usize),
    Diagonal(i64, usize, usize),
    Broadcast(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0usize..8;
    prop_oneof![
        (n.clone(), n.clone(), n.clone()).prop_map(|(a, b, c)| Step::Narrow(a, b, c)),
        (n.clone(), n.clone(), 1usize..4).prop_map(|(a, b, c)| Step::Slice(a, b, c)),
        (n.clone(), n.clone()).prop_map(|(a, b)| Step::Transpose(a, b)),
        n.clone().prop_map(Step::Unsqueeze),
        (n.clone(), n.clone()).prop_map(|(a, b)| Step::Select(a, b)),
        (n.clone(), n.clone(), 1usize..3).prop_map(|(a, b, c)| Step::Unfold(a, b, c)),
        (-2i64..3, n.clone(), n.clone()).prop_map(|(a, b, c)| Step::Diagonal(a, b, c)),
        (1usize..4).prop_map(Step::Broadcast),
    ]
}

fn apply(layout: &Layout, step: &Step) -> Result<Layout> {
    let rank = layout.rank().max(1);
    let dim = |d: usize| layout.dims().get(d % rank).copied().unwrap_or(0);
    match *step {
        Step::Narrow(d, start, len) => {
            let start = start % (dim(d) + 1);
            layout.narrow(d % rank, start, len % (dim(d) - start + 1))
        }
        Step::Slice(d, start, step) => layout.slice(d % rank, start, usize::MAX, step),
        Step::Transpose(a, b) => layout.transpose(a % rank, b % rank),
        Step::Unsqueeze(d) => layout.unsqueeze(d % (layout.rank() + 1)),
        Step::Select(d, i) => layout.select(d % rank, i % dim(d).max(1)),
        Step::Unfold(d, size, step) => layout.unfold(d % rank, size % (dim(d) + 1), step),
        Step::Diagonal(offset, a, b) => layout.diagonal(offset, a % rank, b % rank),
        Step::Broadcast(n) => {
            let shape: Shape = std::iter::once(n).chain(layout.dims().iter().copied()).collect();
            layout.broadcast_as(&shape, "test")
        }
    }
}

proptest! {
    #[test]
    fn views_stay_within_the_storage(dims in dims(), steps in prop::collection::vec(step(), 0..6)) {
        let mut layout = Layout::contiguous(dims.clone());
        let storage = layout.elem_count();
        for step in &steps {
            if let Ok(next) = apply(&layout, step) {
                layout = next;
            }
            prop_assert!(layout.span() <= storage.max(layout.start_offset()), "{layout:?} of {storage}");
            prop_assert!(all(&layout).iter().all(|&i| i < storage), "{layout:?}");
            prop_assert_eq!(all(&layout).len(), layout.elem_count());
        }
    }

    #[test]
    fn contiguous_means_consecutive(dims in dims(), steps in prop::collection::vec(step(), 0..4)) {
        let layout = steps.iter().fold(Layout::contiguous(dims), |l, s| apply(&l, s).unwrap_or(l));
        let consecutive = all(&layout).windows(2).all(|w| w[1] == w[0] + 1);
        if layout.elem_count() > 0 {
            prop_assert_eq!(layout.is_contiguous(), consecutive, "{:?}", layout);
        }
    }

    #[test]
    fn overlap_is_never_missed(dims in dims(), steps in prop::collection::vec(step(), 0..5)) {
        let layout = steps.iter().fold(Layout::contiguous(dims), |l, s| apply(&l, s).unwrap_or(l));
        let mut indices = all(&layout);
        let count = indices.len();
        indices.sort_unstable();
        indices.dedup();
        if indices.len() < count {
            prop_assert!(layout.may_overlap_itself(), "{layout:?}");
        }
    }

    #[test]
    fn a_reshape_that_is_a_view_keeps_the_order(
        dims in dims(), to in dims(), steps in prop::collection::vec(step(), 0..4),
    ) {
        let layout = steps.iter().fold(Layout::contiguous(dims), |l, s| apply(&l, s).unwrap_or(l));
        let to = Shape::from(to);
        match layout.reshape(&to) {
            Ok(Some(view)) => prop_assert_eq!(all(&view), all(&layout)),
            Ok(None) => prop_assert!(!layout.is_contiguous()),
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::Shape);
                prop_assert_ne!(to.elem_count(), layout.elem_count());
            }
        }
    }
}

#[test]
fn views_show_what_their_names_say() -> Result<()> {
    let layout = Layout::contiguous([2, 3, 4]);
    assert_eq!(at(&layout.transpose(0, 2)?, &[3, 1, 0]), at(&layout, &[0, 1, 3]));
    assert_eq!(at(&layout.permute(&[2, 0, 1])?, &[3, 1, 2]), at(&layout, &[1, 2, 3]));
    assert_eq!(all(&layout.narrow(1, 1, 1)?), [4, 5, 6, 7, 16, 17, 18, 19]);
    assert_eq!(all(&Layout::contiguous(7).slice(0, 1, 6, 2)?), [1, 3, 5]);
    assert_eq!(all(&Layout::contiguous([3, 4]).diagonal(1, 0, 1)?), [1, 6, 11]);
    assert_eq!(all(&Layout::contiguous([3, 4]).diagonal(-1, 0, 1)?), [4, 9]);
    assert_eq!(all(&Layout::contiguous(5).unfold(0, 3, 1)?), [0, 1, 2, 1, 2, 3, 2, 3, 4]);
    assert_eq!(all(&Layout::contiguous([2, 1]).broadcast_as(&[2, 2].into(), "test")?), [0, 0, 1, 1]);
    assert_eq!(all(&layout.select(0, 1)?.select(1, 0)?), [12, 16, 20]);
    Ok(())
}

#[test]
fn a_transposed_matrix_reshapes_only_by_a_copy() -> Result<()> {
    let layout = Layout::contiguous([2, 3]).transpose(0, 1)?;
    assert!(layout.reshape(&6.into())?.is_none());
    assert!(layout.reshape(&[3, 1, 2].into())?.is_some());
    // Two dimensions that lie one in the other join, though a third does not.
    let layout = Layout::contiguous([4, 2, 3]).narrow(2, 0, 2)?;
    assert!(layout.reshape(&[8, 2].into())?.is_some());
    assert!(layout.reshape(&[4, 4].into())?.is_none());
    Ok(())
}

#[test]
fn wrong_views_name_what_is_wrong() {
    let layout = Layout::contiguous([2, 3]);
    let cases = [
        (layout.narrow(1, 2, 2), ErrorKind::Index),
        (layout.narrow(1, 1, usize::MAX), ErrorKind::Index),
        (layout.narrow(2, 0, 1), ErrorKind::Index),
        (layout.slice(0, 0, 2, 0), ErrorKind::Value),
        (layout.permute(&[0, 0]), ErrorKind::Index),
        (layout.permute(&[0]), ErrorKind::Index),
        (layout.transpose(0, 2), ErrorKind::Index),
        (layout.squeeze(0), ErrorKind::Shape),
        (layout.unsqueeze(4), ErrorKind::Index),
        (layout.diagonal(0, 1, 1), ErrorKind::Index),
        (layout.unfold(0, 3, 1), ErrorKind::Value),
        (layout.unfold(0, 1, 0), ErrorKind::Value),
        (layout.broadcast_as(&[2, 4].into(), "test"), ErrorKind::Shape),
        (layout.broadcast_as(&[3].into(), "test"), ErrorKind::Shape),
        (Layout::as_strided([2].into(), [1, 1].into_iter().collect(), 0), ErrorKind::Shape),
        (Layout::as_strided([usize::MAX].into(), [1].into_iter().collect(), 0), ErrorKind::Shape),
        (Layout::as_strided([3].into(), [usize::MAX / 2].into_iter().collect(), 0), ErrorKind::Shape),
        (Layout::as_strided([1].into(), [1].into_iter().collect(), usize::MAX), ErrorKind::Shape),
    ];
    for (i, (result, kind)) in cases.into_iter().enumerate() {
        let error = result.expect_err(&format!("case {i}"));
        assert_eq!(error.kind(), kind, "case {i}: {error}");
        let report = error.report().expect("a report");
        assert!(!report.given.is_empty() && !report.accepted.is_empty(), "case {i}: {error}");
    }
}
