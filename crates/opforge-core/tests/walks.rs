//! Several layouts walked together, and whether layouts meet.

use std::collections::BTreeSet;

use opforge_core::{Layout, LayoutRelation, NdIter, Result, Shape, dims2};

fn places(layout: &Layout) -> Vec<usize> {
    layout.indices().collect()
}

/// All layouts that these steps make of a shape.
fn layouts() -> Result<Vec<Layout>> {
    let whole = Layout::contiguous((2, 3, 4));
    Ok(vec![
        whole.clone(),
        whole.permute(&[2, 0, 1])?,
        whole.narrow(2, 1, 2)?,
        whole.narrow(2, 0, 1)?,
        whole.narrow(2, 3, 1)?,
        whole.narrow(0, 1, 1)?,
        whole.narrow(1, 0, 2)?,
        whole.slice(2, 0, 4, 2)?,
        whole.slice(2, 1, 4, 2)?,
        whole.narrow(1, 0, 0)?,
        Layout::contiguous(1).broadcast_as(&(2, 3, 4).into(), "expand")?,
        Layout::contiguous(4).broadcast_as(&(2, 3, 4).into(), "expand")?,
        Layout::contiguous_with_offset((2, 3, 4), 24),
        Layout::contiguous(()),
    ])
}

#[test]
fn layouts_are_walked_together() -> Result<()> {
    for a in layouts()? {
        for b in layouts()?.into_iter().filter(|b| b.shape() == a.shape()) {
            let rows = NdIter::new([&a, &b]);
            let (size, [step_a, step_b]) = (rows.inner_size, rows.inner_strides);
            assert_eq!(rows.len() * size, a.elem_count());
            let pairs: Vec<(usize, usize)> =
                rows.flat_map(|[x, y]| (0..size).map(move |i| (x + i * step_a, y + i * step_b))).collect();
            let expected: Vec<(usize, usize)> = places(&a).into_iter().zip(places(&b)).collect();
            assert_eq!(pairs, expected, "{a:?}, {b:?}");
        }
    }
    Ok(())
}

#[test]
fn rows_are_as_long_as_they_can_be() -> Result<()> {
    let whole = Layout::contiguous((2, 3, 4));
    assert_eq!(NdIter::new([&whole, &whole]).inner_size, 24);
    assert_eq!(NdIter::new([&whole, &whole.permute(&[0, 1, 2])?]).len(), 1);
    let repeated = Layout::contiguous((2, 1, 1)).broadcast_as(&(2, 3, 4).into(), "expand")?;
    let rows = NdIter::new([&whole, &repeated]);
    assert_eq!((rows.inner_size, rows.inner_strides, rows.len()), (12, [1, 0], 2));
    Ok(())
}

/// What is said of two layouts is so, and where one has no gaps, something is said.
#[test]
fn relations_are_true() -> Result<()> {
    let (mut unknown, mut all) = (0, 0);
    for a in layouts()? {
        for b in layouts()? {
            let (here, there) = (places(&a), places(&b));
            let meet = here.iter().collect::<BTreeSet<_>>().intersection(&there.iter().collect()).count() > 0;
            let relation = a.relation(&b);
            assert_eq!(relation, b.relation(&a), "{a:?}, {b:?}");
            match relation {
                LayoutRelation::Identical => assert_eq!(here, there),
                LayoutRelation::Disjoint => assert!(!meet, "{a:?}, {b:?}"),
                LayoutRelation::Overlapping => assert!(meet, "{a:?}, {b:?}"),
                LayoutRelation::Unknown => unknown += 1,
            }
            all += 1;
        }
    }
    assert!(unknown * 5 < all, "{unknown} of {all}");
    let whole = Layout::contiguous((2, 4));
    assert_eq!(whole.slice(1, 0, 4, 2)?.relation(&whole.slice(1, 1, 4, 2)?), LayoutRelation::Disjoint);
    assert_eq!(whole.relation(&whole.clone()), LayoutRelation::Identical);
    Ok(())
}

#[test]
fn lengths_come_as_tuples() -> Result<()> {
    assert_eq!(dims2(&[3, 4])?, (3, 4));
    assert!(dims2(&[3]).is_err());
    let (rows, columns): (usize, usize) = Shape::from((3, 4)).try_into()?;
    assert_eq!((rows, columns), (3, 4));
    Ok(())
}
