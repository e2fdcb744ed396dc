//! Graphs for many sizes: what eager calls give for each of them, and what is refused.

use crate::common::{floats, vec};
use opforge::functional::{conv2d, linear, softmax, tril};
use opforge::{DType, Device, Error, Result, Tensor};
use opforge_graph::dynamic::Free;
use opforge_graph::{DynamicGraph, Size};

/// A graph for free lengths, whose examples have these shapes.
fn traced(
    shapes: &[&[usize]],
    sizes: &[Size],
    free: &[Free<'_>],
    f: &dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<DynamicGraph> {
    let examples: Vec<Tensor> = shapes.iter().enumerate().map(|(i, shape)| floats(shape, i)).collect();
    DynamicGraph::trace(&examples.iter().collect::<Vec<_>>(), sizes, free, f)
}

/// Compares a graph with eager calls for arguments of these shapes.
fn check(graph: &DynamicGraph, shapes: &[&[usize]], f: &dyn Fn(&[Tensor]) -> Result<Vec<Tensor>>) {
    let given: Vec<Tensor> = shapes.iter().enumerate().map(|(i, shape)| floats(shape, 10 + i)).collect();
    let eager = f(&given).unwrap();
    let results =
        graph.run(&given.iter().collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{shapes:?}: {error}\n{graph}"));
    for (a, b) in results.iter().zip(&eager) {
        assert_eq!(a.dims(), b.dims(), "{shapes:?}\n{graph}");
        assert_eq!(a.dtype(), b.dtype());
        let [a, b] = [a, b].map(|x| vec(&x.to_dtype(DType::F32).unwrap()));
        let close =
            a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= 1e-5 * (1.0 + y.abs()) || (x.is_nan() && y.is_nan()));
        assert!(close, "{shapes:?}: {a:?} instead of {b:?}\n{graph}");
    }
}

fn refused(graph: Result<DynamicGraph>) -> String {
    graph.map(|graph| graph.to_string()).expect_err("a graph that is refused").to_string()
}

#[test]
fn any_number_of_rows() {
    let (weight, bias) = (floats(&[4, 3], 1), floats(&[4], 2));
    let f = |x: &[Tensor]| Ok(vec![linear(&x[0], &weight, Some(&bias))?.relu()?.t()?, x[0].mean_all()?]);
    let graph = traced(&[&[5, 3]], &[Size::any("rows")], &[(0, 0, "rows")], &f).unwrap();
    assert_eq!(graph.sizes()[0].max, usize::MAX);
    for rows in [0, 1, 2, 5, 7, 300] {
        check(&graph, &[&[rows, 3]], &f);
    }
    // Of other strides: they are copied.
    let turned = floats(&[3, 6], 3).t().unwrap();
    assert_eq!(vec(&graph.run(&[&turned]).unwrap()[0]), vec(&f(&[turned]).unwrap()[0]));
    for wrong in [floats(&[5, 4], 1), floats(&[5], 1), floats(&[5, 3], 1).to_dtype(DType::F64).unwrap()] {
        let error = graph.run(&[&wrong]).unwrap_err().to_string();
        assert!(error.contains("f32[{rows}, 3]") && error.contains("size rows from 0"), "{error}");
    }
}

/// Causal attention of one head, with positions from a table of 40 and a mask of as many rows as tokens.
fn attention(x: &Tensor, positions: &Tensor) -> Result<Vec<Tensor>> {
    let (batch, tokens, width) = x.dims3()?;
    let places = Tensor::arange(0i64, tokens as i64, &Device::Cpu)?;
    let x = x.broadcast_add(&positions.index_select(&places, 0)?)?.broadcast_add(&positions.narrow(0, 0, tokens)?)?;
    let scores = x.matmul(&x.t()?)?.affine(1.0 / (width as f64).sqrt(), 0.0)?;
    let mask = tril(&Tensor::ones((tokens, tokens), DType::F32, &Device::Cpu)?, 0)?;
    let weights = softmax(&scores.broadcast_mul(&mask)?, 2, None)?;
    let y = weights.matmul(&x)?.reshape((batch * tokens, width))?;
    let scaled = y.affine(1.0 / (batch * tokens) as f64, 1.0)?;
    Ok(vec![y.reshape((batch, tokens * width))?, scaled])
}

#[test]
fn two_sizes_and_their_products() {
    let positions = floats(&[40, 8], 1);
    let f = |x: &[Tensor]| attention(&x[0], &positions);
    let sizes = [Size::any("batch"), Size::any("tokens")];
    let graph = traced(&[&[2, 6, 8]], &sizes, &[(0, 0, "batch"), (0, 1, "tokens")], &f).unwrap();
    assert_eq!((graph.sizes()[1].max, graph.sizes()[0].max), (40, usize::MAX), "the table has 40 rows");
    for [batch, tokens] in [[1, 6], [3, 1], [2, 39], [5, 17], [1, 1], [9, 40]] {
        check(&graph, &[&[batch, tokens, 8]], &f);
    }
    assert!(graph.run(&[&floats(&[2, 41, 8], 1)]).is_err());
    // Half of a product of two sizes, rounded down, is no expression that is looked for; that of one size is.
    let half = |x: &[Tensor]| Ok(vec![x[0].flatten_all()?.narrow(0, 0, x[0].elem_count() / 2)?.exp()?]);
    let error = refused(traced(&[&[3, 5]], &sizes, &[(0, 0, "batch"), (0, 1, "tokens")], &half));
    assert!(
        error.contains("no simple expression of the sizes") && error.contains("7 for batch=3, tokens=5"),
        "{error}"
    );
    let half = |x: &[Tensor]| Ok(vec![x[0].narrow(0, 0, x[0].dim(0)? / 2)?.exp()?]);
    let graph = traced(&[&[9, 2]], &[Size::any("n")], &[(0, 0, "n")], &half).unwrap();
    assert!(graph.to_string().contains("(n)//2"), "{graph}");
    (2..20).for_each(|n| check(&graph, &[&[n, 2]], &half));
    let half = |x: &[Tensor]| Ok(vec![positions.narrow(0, 0, x[0].dim(0)? / 2)?.exp()?]);
    let graph = traced(&[&[9, 2]], &[Size::any("n")], &[(0, 0, "n")], &half).unwrap();
    assert_eq!(graph.sizes()[0].max, 81, "the table has 40 rows");
    (2..20).for_each(|n| check(&graph, &[&[n, 2]], &half));
}

#[test]
fn lengths_that_inference_finds() {
    let (first, second) = (floats(&[4, 3, 3, 3], 1), floats(&[2, 4, 3, 3], 2));
    let f = |x: &[Tensor]| {
        let y = conv2d(&x[0], &first, None, &[2], &[1], &[1], 1)?.relu()?;
        let y = conv2d(&y, &second, None, &[2], &[0], &[1], 1)?.max_pool2d(2)?;
        Ok(vec![y.flatten_from(1)?.mean_keepdim(1)?, y.transpose(1, 3)?.contiguous()?])
    };
    let sizes = ["n", "h", "w"].map(Size::any);
    let free = [(0, 0, "n"), (0, 2, "h"), (0, 3, "w")];
    let graph = traced(&[&[2, 3, 40, 30]], &sizes, &free, &f).unwrap();
    assert!(graph.to_string().contains("%3.2"), "{graph}");
    // The convolutions and the pool need so many.
    let least = (1..40).find(|&h| f(&[floats(&[2, 3, h, 30], 1)]).is_ok()).unwrap();
    assert_eq!(graph.sizes()[1].min, least);
    for [n, h, w] in [[1, 40, 30], [2, 41, 31], [1, 42, 33], [3, 43, 77], [1, 128, 64], [2, least, least]] {
        check(&graph, &[&[n, 3, h, w]], &f);
    }
}

/// Strides of one element, and of no elements, are any number.
#[test]
fn strides_that_say_nothing() {
    let f = |x: &[Tensor]| {
        let n = x[0].dim(1)?;
        let less = n.checked_sub(2).ok_or_else(|| Error::msg("two columns at least"))?;
        let inner = x[0].narrow(1, 1, less)?.sum(1)?;
        Ok(vec![inner, x[0].narrow(1, 0, n - 1)?.exp()?, x[0].narrow(1, n - 1, 1)?.exp()?])
    };
    let graph = traced(&[&[3, 6]], &[Size::any("m"), Size::any("n")], &[(0, 0, "m"), (0, 1, "n")], &f).unwrap();
    assert_eq!(graph.sizes()[1].min, 2);
    for [m, n] in [[3, 6], [1, 2], [4, 2], [2, 3], [0, 5], [7, 40]] {
        check(&graph, &[&[m, n]], &f);
    }
}

#[test]
fn lengths_that_depend_on_each_other() {
    let f = |x: &[Tensor]| {
        Ok(vec![x[0].reshape((x[0].dim(0)? / 2, 2))?.sum(1)?.add(&x[1].narrow(0, 1, x[0].dim(0)? / 2)?)?])
    };
    let free = [(0, 0, "2*n"), (1, 0, "n+1")];
    let graph = traced(&[&[6], &[4]], &[Size { name: "n".into(), min: 1, max: 50 }], &free, &f).unwrap();
    for n in [1, 2, 3, 11, 50] {
        check(&graph, &[&[2 * n], &[n + 1]], &f);
    }
    for wrong in [[7, 4], [6, 5], [102, 52], [0, 1]] {
        let given = wrong.map(|n| floats(&[n], 1));
        assert!(graph.run(&[&given[0], &given[1]]).is_err(), "{wrong:?}");
    }
}

#[test]
fn few_lengths_are_all_tried() {
    let f = |x: &[Tensor]| Ok(vec![x[0].reshape((x[0].dim(0)? * 2, 3))?.exp()?]);
    for (min, max) in [(2, 4), (4, 4), (3, 5), (1, 4), (0, 4)] {
        let graph = traced(&[&[4, 6]], &[Size { name: "n".into(), min, max }], &[(0, 0, "n")], &f).unwrap();
        assert_eq!((graph.sizes()[0].min, graph.sizes()[0].max), (min, max));
        (min..=max).for_each(|n| check(&graph, &[&[n, 6]], &f));
        assert!(graph.run(&[&floats(&[max + 1, 6], 1)]).is_err());
    }
}

/// A least size beyond those that are tried where there is none: others than the example's are.
#[test]
fn very_large_sizes() {
    let f = |x: &[Tensor]| Ok(vec![x[0].narrow(0, 0, 3)?.exp()?]);
    let size = Size { name: "n".into(), min: 2_000_000, max: usize::MAX };
    let graph = traced(&[&[2_000_000]], &[size], &[(0, 0, "n")], &f).unwrap();
    assert!(graph.to_string().contains("f32[{n}]"), "{graph}");
    check(&graph, &[&[2_000_003]], &f);
}

#[test]
fn what_depends_on_sizes_in_other_ways_is_refused() {
    let sizes = [Size::any("n")];
    let free = [(0, 0, "n")];
    let clipped = |x: &[Tensor]| Ok(vec![x[0].narrow(0, 0, x[0].dim(0)?.min(512))?.exp()?]);
    assert!(refused(traced(&[&[6]], &sizes, &free, &clipped)).contains("512"));
    let branch = |x: &[Tensor]| Ok(vec![if x[0].dim(0)? > 100 { x[0].exp()? } else { x[0].sin()? }]);
    let error = refused(traced(&[&[6]], &sizes, &free, &branch));
    assert!(error.contains("Sin") && error.contains("Exp") && error.contains("n=6"), "{error}");
    let steps = |x: &[Tensor]| (0..x[0].dim(0)?).try_fold(x[0].clone(), |x, _| x.sin()).map(|x| vec![x]);
    assert!(
        refused(traced(&[&[6]], &[Size { name: "n".into(), min: 2, max: 90 }], &free, &steps))
            .contains("the same calls")
    );
    let own = |x: &[Tensor]| {
        Ok(vec![x[0].exp()?.affine(1.0, 0.0)?.broadcast_add(&Tensor::new(&[x[0].dim(0)? as f32], &Device::Cpu)?)?])
    };
    assert!(refused(traced(&[&[6]], &sizes, &free, &own)).contains("depend"), "a constant");
    let power = |x: &[Tensor]| x[0].affine((x[0].dim(0)? as f64).powf(0.3), 0.0).map(|y| vec![y]);
    assert!(refused(traced(&[&[6]], &sizes, &free, &power)).contains("no simple expression"));
    let fixed = |x: &[Tensor]| Ok(vec![x[0].add(&floats(&[6], 1))?]);
    assert!(refused(traced(&[&[6]], &sizes, &free, &fixed)).contains("nothing but 6"));
    // Of one row the squeezed result has another shape: that is left out where it was not asked for.
    let squeezed = |x: &[Tensor]| Ok(vec![if x[0].dim(0)? == 1 { x[0].squeeze(0)? } else { x[0].clone() }.exp()?]);
    assert_eq!(traced(&[&[6, 3]], &sizes, &free, &squeezed).unwrap().sizes()[0].min, 2);
    let error = refused(traced(&[&[6, 3]], &[Size { name: "n".into(), min: 1, max: 9 }], &free, &squeezed));
    assert!(error.contains("n = 1"), "{error}");
    // And what was asked for must be there.
    assert!(refused(traced(&[&[6, 3]], &sizes, &[(0, 0, "m")], &squeezed)).contains("size n"));
    assert!(refused(traced(&[&[6, 3]], &sizes, &[(0, 2, "n")], &squeezed)).contains("dimensions of arguments"));
    assert!(refused(traced(&[&[6, 3]], &sizes, &[(0, 0, "4*n")], &squeezed)).contains("size n"));
    assert!(refused(traced(&[&[6, 3]], &sizes, &[(0, 0, "n*")], &squeezed)).contains("a name"));
}

#[test]
fn sizes_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let weight = floats(&[3, 4], 1);
    let f = |x: &[Tensor]| Ok(vec![x[0].matmul(&weight)?.narrow(0, 1, 2)?.affine(1.0 / x[0].dim(0)? as f64, 0.5)?]);
    let x = floats(&[5, 3], 2);
    let size = Size { name: "rows".into(), min: 3, max: 70 };
    let graph = DynamicGraph::trace_named(&[&x], &[size], &[(0, 0, "rows")], &[("weight", &weight)], f).unwrap();
    graph.save(folder.path()).unwrap();
    let loaded = DynamicGraph::load(folder.path()).unwrap();
    assert_eq!(loaded.to_string(), graph.to_string());
    for rows in [3, 5, 70] {
        check(&loaded, &[&[rows, 3]], &f);
    }
    let path = folder.path().join("graph.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let error = opforge_graph::Graph::parse(&text).unwrap_err().to_string();
    assert!(error.contains("DynamicGraph"), "{error}");
    let cases = [
        ("from 3 to 70", "from 71 to 70", "from 71 to 70"),
        ("size rows from 3 to 70", "size rows from 3\nsize rows from 4", "twice"),
        ("size rows", "size 3", "no name"),
        ("{rows}", "{rows rows}", "`}`"),
        ("{rows}", "{(rows)//0}", "division by 0"),
        ("1.0/(rows)", "1.0/(rows", "expected"),
    ];
    for (old, new, what) in cases {
        assert!(text.contains(old), "{text}");
        std::fs::write(&path, text.replace(old, new)).unwrap();
        let error = DynamicGraph::load(folder.path()).map(|graph| graph.to_string()).unwrap_err().to_string();
        assert!(error.contains("graph.txt") && error.contains("line ") && error.contains(what), "{new}: {error}");
    }
    // What is wrong for some sizes only shows when they are there.
    for (old, new) in
        [("f32[{rows}, 4] =", "f32[{2*rows}, 4] ="), ("{rows}, 3", "{rows-9}, 3"), ("{rows}, 3", "{lines}, 3")]
    {
        std::fs::write(&path, text.replace(old, new)).unwrap();
        let error = DynamicGraph::load(folder.path()).unwrap().graph(&[5]).unwrap_err();
        assert!(matches!(error, Error::Format { .. }) && error.to_string().contains("line "), "{error}");
    }
}
