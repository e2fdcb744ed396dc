//! Indexing with several tensors and masks, read and written.

use opforge::functional as f;
use opforge::{DType, Device, ErrorKind, Result, Tensor};

const CPU: &Device = &Device::Cpu;

fn ids(values: &[i64]) -> Option<Tensor> {
    Some(Tensor::from_slice(values, values.len(), CPU).unwrap())
}

fn mask(values: &[bool]) -> Option<Tensor> {
    Some(Tensor::from_slice(values, values.len(), CPU).unwrap())
}

/// `0, 1, 2, ..` in the shape.
fn range(dims: &[usize]) -> Tensor {
    let n: usize = dims.iter().product();
    Tensor::arange(0f32, n as f32, CPU).unwrap().reshape(dims).unwrap()
}

fn values(t: &Tensor) -> Vec<f32> {
    t.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn neighbouring_indices_are_replaced_in_place_and_others_come_first() -> Result<()> {
    let x = range(&[2, 3, 4]);
    let y = f::index_get(&x, &[None, ids(&[2, 0]), ids(&[-1, 1])])?;
    assert_eq!((y.dims(), values(&y)), (&[2, 2][..], vec![11.0, 1.0, 23.0, 13.0]));
    let y = f::index_get(&x, &[ids(&[1, 0, 1]), None, ids(&[0, 1, 3])])?;
    assert_eq!((y.dims(), values(&y)), (&[3, 3][..], vec![12.0, 16.0, 20.0, 1.0, 5.0, 9.0, 15.0, 19.0, 23.0]));
    Ok(())
}

#[test]
fn indices_are_broadcast_together() -> Result<()> {
    let x = range(&[3, 4]);
    let rows = ids(&[0, 2]).unwrap().reshape((2, 1))?;
    let y = f::index_get(&x, &[Some(rows), ids(&[1, 3, 0])])?;
    assert_eq!(y.to_vec2::<f32>()?, [[1.0, 3.0, 0.0], [9.0, 11.0, 8.0]]);
    Ok(())
}

#[test]
fn masks_take_the_place_of_their_dimensions() -> Result<()> {
    let x = range(&[2, 3, 2]);
    let whole = x.gt(6.5)?.to_dtype(DType::Bool)?;
    assert_eq!(values(&f::index_get(&x, &[Some(whole)])?), [7.0, 8.0, 9.0, 10.0, 11.0]);
    let front = Tensor::new(&[[true, false, true], [false, false, true]], CPU)?;
    let expected = [[0.0, 1.0], [4.0, 5.0], [10.0, 11.0]];
    assert_eq!(f::index_get(&x, &[Some(front.clone())])?.to_vec2::<f32>()?, expected);
    let apart = x.permute((2, 0, 1))?;
    assert_eq!(f::index_get(&apart, &[None, Some(front)])?.t()?.to_vec2::<f32>()?, expected);
    let y = f::index_get(&x, &[ids(&[1]), mask(&[true, false, true])])?;
    assert_eq!(y.to_vec2::<f32>()?, [[6.0, 7.0], [10.0, 11.0]]);
    assert_eq!(f::index_get(&x, &[Some(Tensor::new(true, CPU)?)])?.dims(), [1, 2, 3, 2]);
    assert_eq!(f::index_get(&x, &[Some(Tensor::new(false, CPU)?)])?.dims(), [0, 2, 3, 2]);
    Ok(())
}

#[test]
fn a_write_changes_what_a_read_shows() -> Result<()> {
    let selections: [&[Option<Tensor>]; 4] = [
        &[ids(&[1, -2])],
        &[None, ids(&[2, 0]), ids(&[-1, 1])],
        &[ids(&[1, 0]), None, ids(&[0, 3])],
        &[None, mask(&[false, true, true])],
    ];
    for selection in selections {
        let x = range(&[2, 3, 4]);
        let new = f::index_get(&x, selection)?.neg()?;
        let copy = f::index_put(&x, selection, &new, false)?;
        assert_eq!(values(&f::index_get(&copy, selection)?), values(&new));
        assert_eq!(values(&x), values(&range(&[2, 3, 4])));
        x.index_put_set(selection, &new, false)?;
        assert_eq!(values(&x), values(&copy));
        x.index_put_set(selection, &f::index_get(&x, selection)?, true)?;
        assert_eq!(values(&f::index_get(&x, selection)?), values(&(new * 2.0)?));
    }
    Ok(())
}

#[test]
fn writes_reach_views_and_take_their_own_storage_as_values() -> Result<()> {
    let x = range(&[3, 2]);
    x.t()?.index_put_set(&[ids(&[1])], &x.narrow(1, 0, 1)?.squeeze(1)?, false)?;
    assert_eq!(x.to_vec2::<f32>()?, [[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]]);
    let half = range(&[3, 2]).to_dtype(DType::BF16)?;
    half.t()?.index_put_set(&[ids(&[1, 1])], &Tensor::new(1f32, CPU)?.to_dtype(DType::BF16)?, true)?;
    assert_eq!(values(&half.to_dtype(DType::F32)?), [0.0, 3.0, 2.0, 5.0, 4.0, 7.0]);
    Ok(())
}

#[test]
fn a_recorded_write_passes_gradients_on() -> Result<()> {
    let (x, v) = (range(&[3]), Tensor::new(&[5f32, 7.0], CPU)?);
    x.set_requires_grad(true)?;
    v.set_requires_grad(true)?;
    let y = (&x * 2.0)?;
    y.index_put_set(&[ids(&[2, 0])], &v, false)?;
    let grads = (y * Tensor::new(&[1f32, 10.0, 100.0], CPU)?)?.sum_all()?.backward()?;
    assert_eq!(values(grads.get(&x).unwrap()), [0.0, 20.0, 0.0]);
    assert_eq!(values(grads.get(&v).unwrap()), [100.0, 1.0]);
    Ok(())
}

#[test]
fn many_tuples_are_shared_among_threads() -> Result<()> {
    let (n, x) = (30_000, range(&[100, 300]));
    let at = |step: i64, len: i64| Tensor::from_iter((0..n).map(|i| i * step % len), CPU).unwrap();
    let (rows, columns) = (at(7919, 100), at(104729, 300));
    let expected: Vec<f32> = (0..n).map(|i| ((i * 7919 % 100) * 300 + i * 104729 % 300) as f32).collect();
    assert_eq!(values(&f::index_get(&x, &[Some(rows.clone()), Some(columns.clone())])?), expected);
    let sums = f::index_put(&x.zeros_like()?, &[Some(rows), Some(columns)], &Tensor::ones((), DType::F32, CPU)?, true)?;
    assert_eq!(sums.sum_all()?.to_scalar::<f32>()?, n as f32);
    let found = f::nonzero(&x)?;
    assert_eq!(found.dims(), [29_999, 2]);
    assert_eq!(found.narrow(0, 29_998, 1)?.to_vec2::<i64>()?, [[99, 299]]);
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = range(&[2, 3]);
    let kind = |r: Result<Tensor>| r.and_then(|t| t.elements_read()).unwrap_err().kind();
    assert_eq!(kind(f::index_get(&x, &[ids(&[2])])), ErrorKind::Index);
    assert_eq!(kind(f::index_get(&x, &[None, ids(&[-4])])), ErrorKind::Index);
    assert_eq!(kind(f::index_get(&x, &[None, None, ids(&[0])])), ErrorKind::Index);
    assert_eq!(kind(f::index_get(&x, &[mask(&[true; 3])])), ErrorKind::Shape);
    assert_eq!(kind(f::index_get(&x, &[ids(&[0, 1]), ids(&[0, 1, 2])])), ErrorKind::Shape);
    assert_eq!(kind(f::index_get(&x, &[Some(x.clone())])), ErrorKind::DType);
    assert_eq!(kind(f::index_put(&x, &[ids(&[0])], &range(&[4]), false)), ErrorKind::Shape);
    assert_eq!(
        kind(f::index_put(&x, &[ids(&[0])], &range(&[3]).to_dtype(DType::F64).unwrap(), false)),
        ErrorKind::DType
    );
    assert_eq!(kind(f::index_put(&x, &[None], &x, false)), ErrorKind::Value);
}

trait Read: Sized {
    fn elements_read(self) -> Result<Self>;
}

impl Read for Tensor {
    /// Waits for the elements, which is where an error may surface.
    fn elements_read(self) -> Result<Self> {
        self.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?;
        Ok(self)
    }
}
