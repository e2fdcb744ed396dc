//! Programs written against candle-core: only the crate's name is changed. Values worked out by hand.

use opforge as candle_core;

use candle_core::backprop::GradStore;
use candle_core::shape::{Dim, Dims};
use candle_core::test_utils::{assert_tensor_eq, to_vec0_round, to_vec1_round, to_vec2_round, to_vec3_round};
use candle_core::{Context, D, DType, Device, Error, IndexOp, Module, Result, Shape, Tensor, Var, bail, test_device};

/// Every way to make a tensor.
fn constructors(dev: &Device) -> Result<()> {
    assert_eq!(Tensor::new::<&[u32; 0]>(&[], dev)?.dims(), [0]);
    assert_eq!(Tensor::new(&[[[1u8, 2]], [[3, 4]]], dev)?.dims3()?, (2, 1, 2));
    assert_eq!(Tensor::new(vec![vec![1f64], vec![2.0]], dev)?.dims2()?, (2, 1));
    assert_eq!(Tensor::new(vec![&[1i64, 2][..], &[3, 4]], dev)?.dims2()?, (2, 2));
    assert_eq!(Tensor::full(7u32, (2, 1), dev)?.to_vec2::<u32>()?, [[7], [7]]);
    assert_eq!(Tensor::arange(2f32, 5f32, dev)?.to_vec1::<f32>()?, [2.0, 3.0, 4.0]);
    assert_eq!(Tensor::arange_step(5i64, 0, -2, dev)?.to_vec1::<i64>()?, [5, 3, 1]);
    assert_eq!(Tensor::arange_step(0u8, 5, 2, dev)?.to_vec1::<u8>()?, [0, 2, 4]);
    assert_eq!(Tensor::from_iter(vec![1f32, 2.0], dev)?.dims1()?, 2);
    assert_eq!(Tensor::from_vec(vec![1u32; 6], ((), 3), dev)?.dims(), [2, 3]);
    assert_eq!(Tensor::from_slice(&[1f32; 4], &[2, 2], dev)?.dims(), [2, 2]);
    assert!(Tensor::from_slice(&[1f32; 4], (3, 2), dev).is_err());
    assert!(Tensor::from_vec(vec![1f32; 4], (3, ()), dev).is_err());
    let r = Tensor::rand(-1f32, 1., (100,), dev)?.to_vec1::<f32>()?;
    assert!(r.iter().all(|v| (-1.0..1.0).contains(v)));
    assert_eq!(Tensor::randn(0f64, 1., Shape::from((2, 3)), dev)?.dtype(), DType::F64);
    let like = Tensor::zeros((2, 2), DType::BF16, dev)?;
    assert_eq!(like.ones_like()?.to_dtype(DType::F32)?.to_vec2::<f32>()?, [[1.0; 2]; 2]);
    Ok(())
}

/// Operators between tensors, references, results and numbers.
fn arithmetic(dev: &Device) -> Result<()> {
    let (a, b) = (&Tensor::new(&[4f32, 9.0], dev)?, Tensor::new(&[2f32, 3.0], dev)?);
    let cases: [(Result<Tensor>, [f32; 2]); 14] = [
        (a + &b, [6.0, 12.0]),
        (a - b.clone(), [2.0, 6.0]),
        (a.clone() * &b, [8.0, 27.0]),
        (a.clone() / b.clone(), [2.0, 3.0]),
        (a + (a + &b), [10.0, 21.0]),
        ((a + &b) - a, [2.0, 3.0]),
        ((a + &b) * b.clone(), [12.0, 36.0]),
        (a + 1.0, [5.0, 10.0]),
        (1.0 - a, [-3.0, -8.0]),
        (36.0 / a, [9.0, 4.0]),
        (a * 0.5, [2.0, 4.5]),
        (a.affine(2.0, -1.0), [7.0, 17.0]),
        (a.sqrt()?.powf(3.0)?.round_to(2), [8.0, 27.0]),
        (b.pow(&b), [4.0, 27.0]),
    ];
    for (i, (result, expected)) in cases.into_iter().enumerate() {
        assert_eq!(to_vec1_round(&result?, 4)?, expected, "case {i}");
    }
    assert_eq!(a.gt(5.0)?.to_vec1::<u8>()?, [0, 1]);
    assert_eq!(a.ge(&b)?.dtype(), DType::U8);
    assert_eq!(a.clamp(5f32, 6f32)?.to_vec1::<f32>()?, [5.0, 6.0]);
    assert_eq!(a.maximum(&b)?.minimum(5.0)?.to_vec1::<f32>()?, [4.0, 5.0]);
    assert_eq!(a.broadcast_sub(&Tensor::new(1f32, dev)?)?.to_vec1::<f32>()?, [3.0, 8.0]);
    assert!(a.add(&Tensor::new(1f32, dev)?).is_err(), "no implicit broadcasting");
    assert!(a.gt(&b)?.where_cond(a, &b).is_ok());
    Ok(())
}

fn reductions(dev: &Device) -> Result<()> {
    let t = Tensor::new(&[[3f32, 1., 4.], [1., 5., 9.]], dev)?;
    assert_eq!(t.sum(D::Minus1)?.to_vec1::<f32>()?, [8.0, 15.0]);
    assert_eq!(t.sum_keepdim((0, 1))?.to_vec2::<f32>()?, [[23.0]]);
    assert_eq!(t.sum(())?.dims(), [2, 3]);
    assert_eq!(t.mean(vec![0])?.to_vec1::<f32>()?, [2.0, 3.0, 6.5]);
    assert_eq!(t.mean_all()?.to_scalar::<f32>()? * 6.0, 23.0);
    assert_eq!(t.max(0)?.to_vec1::<f32>()?, [3.0, 5.0, 9.0]);
    assert_eq!(t.min_keepdim(1)?.to_vec2::<f32>()?, [[1.0], [1.0]]);
    assert_eq!(t.argmax(1)?.to_vec1::<u32>()?, [2, 2]);
    assert_eq!(t.argmin_keepdim(0)?.to_vec2::<u32>()?, [[1, 0, 0]]);
    assert_eq!(to_vec1_round(&t.var(1)?, 4)?, [2.3333, 16.0]);
    assert!(t.sum((0, 0)).is_err() && t.sum(2).is_err());
    Ok(())
}

fn layouts(dev: &Device) -> Result<()> {
    let t = Tensor::arange(0f32, 6., dev)?.reshape((2, ()))?;
    assert_eq!(t.t()?.stride(), [1, 3]);
    assert!(!t.t()?.is_contiguous());
    assert_eq!(t.transpose(0, 1)?.contiguous()?.to_vec2::<f32>()?, [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]);
    assert_eq!(t.permute((1, 0))?.dims(), [3, 2]);
    assert_eq!(t.contiguous()?.id(), t.id());
    assert_eq!(t.unsqueeze(D::Minus1)?.dims(), [2, 3, 1]);
    assert_eq!(t.unsqueeze(0)?.squeeze(0)?.dims(), [2, 3]);
    assert_eq!(t.broadcast_left(4)?.dims(), [4, 2, 3]);
    assert_eq!(t.flatten_all()?.dims1()?, 6);
    assert_eq!(t.flatten(0, D::Minus1)?.dims(), [6]);
    assert_eq!(t.i(1)?.broadcast_as((2, 3))?.to_vec2::<f32>()?, [[3.0, 4.0, 5.0]; 2]);
    assert_eq!(Tensor::cat(&[&t, &t], 0)?.dims(), [4, 3]);
    assert_eq!(Tensor::stack(&[t.clone(), t.clone()], 1)?.dims(), [2, 2, 3]);
    assert_eq!(t.flip(&[1])?.to_vec2::<f32>()?, [[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]);
    assert_eq!(t.dim(D::Minus2)?, 2);
    assert_eq!(to_vec3_round(&t.unsqueeze(0)?, 1)?, [[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]]);
    Ok(())
}

fn indexing(dev: &Device) -> Result<()> {
    let t = Tensor::arange(0f32, 12., dev)?.reshape((4, 3))?;
    let ids = Tensor::new(&[0u32, 2, 1], dev)?;
    assert_eq!(t.index_select(&ids, 1)?.i(0)?.to_vec1::<f32>()?, [0.0, 2.0, 1.0]);
    assert_eq!(t.embedding(&ids)?.i(1)?.to_vec1::<f32>()?, [6.0, 7.0, 8.0]);
    let at = Tensor::new(&[[0u32], [2], [1], [0]], dev)?;
    assert_eq!(t.gather(&at, 1)?.to_vec2::<f32>()?, [[0.0], [5.0], [7.0], [9.0]]);
    let zeros = Tensor::zeros((4, 3), DType::F32, dev)?;
    let src = Tensor::ones((4, 1), DType::F32, dev)?;
    assert_eq!(zeros.scatter_add(&at, &src, 1)?.i(1)?.to_vec1::<f32>()?, [0.0, 0.0, 1.0]);
    assert_eq!(zeros.scatter(&at, &src, 1)?.i(2)?.to_vec1::<f32>()?, [0.0, 1.0, 0.0]);
    let add = Tensor::ones((3, 3), DType::F32, dev)?;
    assert_eq!(t.index_add(&ids, &add, 0)?.i((.., 0))?.to_vec1::<f32>()?, [1.0, 4.0, 7.0, 9.0]);
    Ok(())
}

struct Layer {
    w: Tensor,
}

impl Module for Layer {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        xs.matmul(&self.w)?.tanh()
    }
}

fn training(dev: &Device) -> Result<()> {
    let w = Var::from_slice(&[0.5f32, -0.5], (2, 1), dev)?;
    let xs = Tensor::new(&[[1f32, 2.0]], dev)?;
    let layer = Layer { w: w.as_tensor().clone() };
    let loss = xs.apply(&layer)?.sqr()?.sum_all()?;
    let grads: GradStore = loss.backward()?;
    let grad = grads.get(&w).context("a gradient of w")?;
    // tanh(-0.5) = -0.46212; 2 y (1 - y^2) = -0.72686 times x.
    assert_eq!(to_vec2_round(grad, 4)?, [[-0.7269], [-1.4537]]);
    w.set(&w.sub(&(grad * 0.1)?)?)?;
    assert_eq!(to_vec2_round(&layer.w, 4)?, [[0.5727], [-0.3546]], "a clone sees what set writes");
    assert_eq!(to_vec0_round(&loss, 4)?, 0.2136);
    assert_ne!(w.detach().id(), w.id());
    Ok(())
}

fn generic_dims<D1: Dim, Ds: Dims>(t: &Tensor, dim: D1, dims: Ds) -> Result<Tensor> {
    let dim = dim.to_index(t.shape(), "generic")?;
    t.sum_keepdim(dims)?.squeeze(dim)
}

fn errors(dev: &Device) -> Result<()> {
    fn odd(n: usize) -> Result<usize> {
        if n.is_multiple_of(2) {
            bail!("{n} is even")
        }
        Ok(n)
    }
    assert_eq!(odd(4).unwrap_err().to_string().lines().next(), Some("4 is even"));
    let wrapped = Error::wrap(std::fmt::Error).bt();
    assert!(wrapped.to_string().contains("formatting"));
    let context = odd(2).context("while counting").unwrap_err().to_string();
    assert!(context.contains("while counting") && context.contains("2 is even"));
    let t = Tensor::ones((2, 3), DType::F32, dev)?;
    assert_eq!(generic_dims(&t, 0, (0, 1))?.dims(), [1]);
    assert_tensor_eq(&t, &t.copy()?)?;
    assert!(dev.is_cpu() && !dev.is_cuda() && dev.supports_bf16());
    dev.set_seed(1)?;
    dev.synchronize()?;
    assert!(Device::new_cuda(0).is_err());
    assert!(Device::cuda_if_available(0)?.same_device(dev));
    Ok(())
}

test_device!(constructors, constructors_cpu, constructors_gpu, constructors_metal);
test_device!(arithmetic, arithmetic_cpu, arithmetic_gpu, arithmetic_metal);
test_device!(reductions, reductions_cpu, reductions_gpu, reductions_metal);
test_device!(layouts, layouts_cpu, layouts_gpu, layouts_metal);
test_device!(indexing, indexing_cpu, indexing_gpu, indexing_metal);
test_device!(training, training_cpu, training_gpu, training_metal);
test_device!(errors, errors_cpu, errors_gpu, errors_metal);
