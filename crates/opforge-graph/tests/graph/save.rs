//! Graphs that are saved and loaded, and what is refused.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::MutexGuard;

use crate::common::{floats, vec};
use opforge::functional::{batch_norm, dropout, linear};
use opforge::{DType, Device, Error, Result, Tensor, safetensors};
use opforge_graph::{Graph, trace};
use opforge_runtime::Generator;

/// Parameters and buffers of a network. It draws from the process's generator, which others leave alone meanwhile.
struct Network(Vec<(&'static str, Tensor)>, #[allow(dead_code)] MutexGuard<'static, ()>);

impl Network {
    fn new() -> Network {
        let tensors = vec![
            ("weight", floats(&[8, 6], 1)),
            ("bias", floats(&[8], 2)),
            ("mean", floats(&[8], 3)),
            ("var", floats(&[8], 4).sqr().unwrap()),
        ];
        Network(tensors, crate::generator())
    }

    fn tensor(&self, name: &str) -> &Tensor {
        &self.0.iter().find(|(own, _)| *own == name).unwrap().1
    }

    /// A result, a view of it, and a constant; changes the running statistics and draws numbers.
    fn call(&self, x: &Tensor) -> Result<Vec<Tensor>> {
        let [weight, bias, mean, var] = ["weight", "bias", "mean", "var"].map(|name| self.tensor(name));
        let hidden = linear(x, weight, Some(bias))?;
        let normal = batch_norm(&hidden, Some(mean), Some(var), None, None, true, 0.25, 1e-5)?;
        let y = dropout(&normal.relu()?, 0.25, true, false)?;
        Ok(vec![y.clone(), y.t()?.narrow(0, 2, 3)?, Tensor::new(&[1i64, 2], &Device::Cpu)?])
    }

    fn graph(&self, x: &Tensor) -> Graph {
        let graph = trace(&[x], |x| self.call(&x[0])).unwrap();
        graph.with_names(self.0.iter().map(|(name, tensor)| (*name, tensor)))
    }
}

#[test]
fn a_network_is_the_same_after_it_was_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (network, x) = (Network::new(), floats(&[5, 6], 7));
    let graph = network.graph(&x);
    graph.save(folder.path()).unwrap();
    let loaded = Graph::load(folder.path()).unwrap();
    assert_eq!(loaded.to_string(), graph.to_string());
    let weights = loaded.weights().unwrap();
    let program = loaded.compile().unwrap();
    for seed in [3, 4] {
        Generator::global().manual_seed(seed);
        let eager = network.call(&x).unwrap();
        Generator::global().manual_seed(seed);
        let results = program.run(&[&x]).unwrap();
        assert_eq!(vec(&results[0]), vec(&eager[0]));
        assert_eq!((results[1].dims(), vec(&results[1])), (eager[1].dims(), vec(&eager[1])));
        assert!(results[1].shares_storage(&results[0]));
        assert_eq!(results[2].to_vec1::<i64>().unwrap(), [1, 2]);
        for name in ["mean", "var"] {
            assert_eq!(vec(&weights[name]), vec(network.tensor(name)), "{name} after seed {seed}");
        }
    }
}

#[test]
fn memory_that_is_no_single_tensor_is_saved_as_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (large, x) = (floats(&[4, 6], 1), floats(&[6], 2));
    let (row, turned) = (large.narrow(0, 2, 1).unwrap().squeeze(0).unwrap(), large.t().unwrap());
    let graph = trace(&[&x], |x| Ok(vec![x[0].add(&row)?, turned.exp()?])).unwrap();
    assert!(graph.to_string().contains("captured \"%1\" u8[96]"), "{graph}");
    graph.save(folder.path()).unwrap();
    let results = Graph::load(folder.path()).unwrap().compile().unwrap().run(&[&x]).unwrap();
    assert_eq!(vec(&results[0]), vec(&x.add(&row).unwrap()));
    assert_eq!(vec(&results[1]), vec(&turned.exp().unwrap()));
}

#[test]
fn a_save_that_fails_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let x = floats(&[5, 6], 7);
    Network::new().graph(&x).save(folder.path()).unwrap();
    let files = || -> Vec<_> { fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect() };
    let before = fs::read(folder.path().join("graph.txt")).unwrap();
    assert_eq!(files().len(), 2);
    let unbound = Graph::parse(&Network::new().graph(&x).to_string()).unwrap();
    assert!(unbound.save(folder.path()).unwrap_err().to_string().contains("weight"));
    // A folder in the place of the weights cannot be replaced by a file.
    fs::remove_file(folder.path().join("weights.safetensors")).unwrap();
    fs::create_dir(folder.path().join("weights.safetensors")).unwrap();
    let other = trace(&[&x], |x| Ok(vec![x[0].exp()?])).unwrap();
    assert!(matches!(other.save(folder.path()), Err(Error::Io(_))));
    assert_eq!((fs::read(folder.path().join("graph.txt")).unwrap(), files().len()), (before, 2));
}

fn load_error(folder: &Path) -> String {
    Graph::load(folder).map(|graph| graph.to_string()).unwrap_err().to_string()
}

#[test]
fn weights_that_do_not_fit_are_errors_that_name_file_and_weight() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.safetensors");
    let x = floats(&[5, 6], 7);
    let graph = Network::new().graph(&x);
    graph.save(folder.path()).unwrap();
    let whole = fs::read(&path).unwrap();
    let with = |change: &dyn Fn(&mut HashMap<String, Tensor>)| {
        let mut weights = graph.weights().unwrap();
        change(&mut weights);
        safetensors::save(&weights, &path).unwrap();
        load_error(folder.path())
    };
    let missing = with(&|weights| drop(weights.remove("bias")));
    let short = with(&|weights| drop(weights.insert("bias".into(), floats(&[7], 1))));
    let halves = with(&|weights| drop(weights.insert("bias".into(), floats(&[8], 1).to_dtype(DType::F16).unwrap())));
    for (error, what) in [(missing, "cannot find"), (short, "[8]"), (halves, "f16")] {
        assert!(error.contains("weights.safetensors") && error.contains("bias") && error.contains(what), "{error}");
    }
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    assert!(load_error(folder.path()).contains("weights.safetensors"));
    fs::remove_file(&path).unwrap();
    assert!(load_error(folder.path()).contains("weights.safetensors"));
    fs::write(folder.path().join("graph.txt"), b"opforge graph 1\n\xff").unwrap();
    assert!(
        matches!(Graph::load(folder.path()), Err(Error::Context { inner, .. }) if matches!(*inner, Error::Format { .. }))
    );
    fs::write(folder.path().join("graph.txt"), "opforge graph 2\n").unwrap();
    let error = load_error(folder.path());
    assert!(error.contains("graph.txt") && error.contains("line 1: version 2"), "{error}");
}

#[test]
fn unbound_weights_are_named() {
    let graph = Graph::parse(&Network::new().graph(&floats(&[5, 6], 7)).to_string()).unwrap();
    assert!(graph.clone().bind(&HashMap::new()).unwrap_err().to_string().contains("weight"));
    assert!(graph.compile().err().unwrap().to_string().contains("weight"));
}

/// Lines in a graph of one argument, and what the error says of them.
#[test]
fn malformed_texts_are_errors_that_name_the_line() {
    let cases = [
        ("%1 f32[4] = UnaryOp<Exp> %2 f32[4]", "%2 is not defined yet"),
        ("%1 f32[4] = UnaryOp<Expo> %0 f32[4]", "UnaryOp<Expo>"),
        ("%1 f32[4] = UnaryOp<Exp>(x=1) %0 f32[4]", "no further attribute"),
        ("%1 f32[4] = Softmax(dim=0) %0 f32[4]", "kind"),
        ("%1 f32[4] = Softmax(dim=1, kind=Plain) %0 f32[4]", "dim"),
        ("%1 f32[4] = Softmax(dim=-1, kind=Plain) %0 f32[4]", "usize"),
        ("%1 f32[5] = UnaryOp<Exp> %0 f32[4]", "exp makes f32"),
        ("%1 f64[4] = UnaryOp<Exp> %0 f32[4]", "exp makes f32"),
        ("%2 f32[4] = UnaryOp<Exp> %0 f32[4]", "%2 is not defined yet"),
        ("%1 f32[4], %2 f32[4] = UnaryOp<Exp> %0 f32[4]", "1 results"),
        ("%1 f32[5] = UnaryOp<Exp> %0 f32[5]", "16 bytes"),
        ("%1 f32[4] = UnaryOp<Exp> %0 f32[4] from 1", "16 bytes"),
        ("%1 f32[4] = BinaryOp<Add> %0 f32[4], %0 f32[3]", "shape"),
        ("%1 f32[4] = BinaryOp<Add> %0 f32[4]", "2 tensors"),
        ("%1 f32[4, 4] = BinaryOp<Add> %0 f32[4, 4] stride [1, 9223372036854775807], %0 f32[4]", "line 3"),
        ("%0 f32[4] stride [0] = UnaryOp<Exp> %0 f32[4]", "no two elements"),
        ("%0 f32[3] from 1 = UnaryOp<Exp> %0 f32[3]", "over"),
        ("%1 f32[2, 2] = ViewOp<Reshape>(Reshape(shape=[2, 2])) %0 f32[4]", "is a view"),
        ("%1 f32[4] = CustomOp(name=\"mine\", attributes=[]) %0 f32[4]", "mine"),
        ("%1 = captured \"w\" f32[2] stride [2]", "contiguous"),
        ("%1 = captured w f32[2]", "found `w f32[2]`"),
        ("%7 = key", "%1 is the next"),
        ("%1 f33[4] = UnaryOp<Exp> %0 f32[4]", "dtype"),
        ("%1 f32[99999999999999999999] = UnaryOp<Exp> %0 f32[4]", "a number"),
        ("%1 f32[4] UnaryOp<Exp> %0 f32[4]", "expected `=`"),
        ("", "expected `=`"),
    ];
    for (line, what) in cases {
        let text = format!("opforge graph 1\ngraph(%0 f32[4]) {{\n  {line}\n  return %0 f32[4]\n}}\n");
        let error = Graph::parse(&text).map(|graph| graph.to_string()).unwrap_err();
        assert!(matches!(error, Error::Format { .. }), "{line}: {error:?}");
        let error = error.to_string();
        assert!(error.contains("line 3") && error.contains(what), "{line}: {error}");
    }
    let twice = "opforge graph 1\ngraph() {\n  %0 = captured \"w\" f32[2]\n  %1 = captured \"w\" f32[2]\n  return\n}\n";
    assert!(Graph::parse(twice).unwrap_err().to_string().contains("line 4: \"w\" is captured twice"));
    for text in ["", "graph", "opforge graph 1", "opforge graph 1\ngraph() {\n  return\n}\nmore"] {
        assert!(matches!(Graph::parse(text), Err(Error::Format { .. })), "{text}");
    }
    assert!(Graph::parse("opforge graph 1\ngraph() {\n  return\n}\n").unwrap().compile().unwrap().run(&[]).is_ok());
}
