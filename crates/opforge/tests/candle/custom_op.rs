//! Operators that programs define through candle's traits.

use opforge::backend::BackendStorage;
use opforge::cpu_backend::{binary_map, unary_map};
use opforge::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, DType, Device, ErrorKind, InplaceOp1, InplaceOp2, Layout, Result,
    Shape, Tensor, Var, map_dtype,
};

const CPU: &Device = &Device::Cpu;

/// `x^3`, whose gradient is made of operators.
struct Cube;

impl CustomOp1 for Cube {
    fn name(&self) -> &'static str {
        "cube"
    }
    fn cpu_fwd(&self, s: &CpuStorage, l: &Layout) -> Result<(CpuStorage, Shape)> {
        let cubes = map_dtype!("cube", s, |s| unary_map(s, l, |v| v * v * v), (F32, F64));
        Ok((cubes, l.shape().clone()))
    }
    fn bwd(&self, arg: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some((arg.sqr()? * 3.0)?.mul(grad)?))
    }
}

struct Product;

impl CustomOp2 for Product {
    fn name(&self) -> &'static str {
        "product"
    }
    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let products = binary_map(l1, l2, s1.as_slice::<f32>()?, s2.as_slice::<f32>()?, |a, b| a * b);
        Ok((CpuStorage::F32(products), l1.shape().clone()))
    }
    fn bwd(&self, a: &Tensor, b: &Tensor, _: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Ok((Some((b * grad)?), Some((a * grad)?)))
    }
}

/// Claims a shape that its elements do not fill.
struct Liar;

impl CustomOp3 for Liar {
    fn name(&self) -> &'static str {
        "liar"
    }
    fn cpu_fwd(
        &self,
        s: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Ok((s.clone(), (100, 100).into()))
    }
}

#[test]
fn values_gradients_and_second_derivatives() -> Result<()> {
    let x = Var::new(&[[1f64, 2.0], [3.0, -1.0]], CPU)?;
    let y = x.t()?.apply_op1(Cube)?;
    assert_eq!(y.to_vec2::<f64>()?, [[1.0, 27.0], [8.0, -1.0]]);
    assert_eq!(y.backward()?.get(&x).unwrap().to_vec2::<f64>()?, [[3.0, 12.0], [27.0, 3.0]]);
    let (a, b) = (Var::new(&[1f32, 2.0], CPU)?, Var::new(&[3f32, 4.0], CPU)?);
    let grads = a.apply_op2(&b, Product)?.backward()?;
    assert_eq!(grads.get(&a).unwrap().to_vec1::<f32>()?, [3.0, 4.0]);
    assert_eq!(grads.get(&b).unwrap().to_vec1::<f32>()?, [1.0, 2.0]);
    assert!(!x.apply_op1_no_bwd(&Cube)?.requires_grad());
    assert_eq!(a.narrow(0, 1, 1)?.apply_op2_no_bwd(&b.narrow(0, 0, 1)?, &Product)?.to_vec1::<f32>()?, [6.0]);
    Ok(())
}

#[test]
fn what_is_wrong_is_named() -> Result<()> {
    let ints = Tensor::new(&[1u32], CPU)?;
    assert_eq!(ints.apply_op1(Cube).unwrap_err().to_string().lines().next(), Some("unsupported dtype u32 for op cube"));
    let error = ints.apply_op3(&ints, &ints, Liar).unwrap_err();
    assert!(error.kind() == ErrorKind::Shape && error.to_string().contains("liar"), "{error}");
    let x = Var::new(&[1f32; 10000], CPU)?;
    let unknown = x.apply_op3(&x, &x, Liar)?.backward().unwrap_err();
    assert!(unknown.kind() == ErrorKind::Autograd && unknown.to_string().contains("liar"), "{unknown}");
    assert!(Tensor::zeros(2, DType::F32, &Device::Meta)?.apply_op1(Cube).is_err());
    Ok(())
}

struct Negate;

impl InplaceOp1 for Negate {
    fn name(&self) -> &'static str {
        "negate"
    }
    fn cpu_fwd(&self, s: &mut CpuStorage, l: &Layout) -> Result<()> {
        let CpuStorage::F32(values) = s else { opforge::bail!("negate of {}", s.dtype()) };
        l.indices().for_each(|i| values[i] = -values[i]);
        Ok(())
    }
}

struct Truncate;

impl InplaceOp2 for Truncate {
    fn name(&self) -> &'static str {
        "truncate"
    }
    fn cpu_fwd(&self, s: &mut CpuStorage, _: &Layout, other: &CpuStorage, _: &Layout) -> Result<()> {
        *s = other.clone();
        Ok(())
    }
}

#[test]
fn changes_in_place() -> Result<()> {
    let t = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], CPU)?;
    t.t()?.narrow(0, 1, 1)?.inplace_op1(&Negate)?;
    assert_eq!(t.to_vec2::<f32>()?, [[1.0, -2.0], [3.0, -4.0]]);
    let doubles = Tensor::new(&[1f64], CPU)?;
    assert!(doubles.inplace_op1(&Negate).is_err());
    assert_eq!(t.inplace_op2(&doubles, &Truncate).unwrap_err().kind(), ErrorKind::DType);
    assert_eq!(t.inplace_op2(&t.narrow(0, 0, 1)?, &Truncate).unwrap_err().kind(), ErrorKind::Shape);
    let x = Var::new(&[1f32], CPU)?;
    let y = x.sqr()?;
    x.inplace_op1(&Negate)?;
    assert_eq!(y.backward().unwrap_err().kind(), ErrorKind::Autograd, "a saved tensor was changed");
    Ok(())
}
