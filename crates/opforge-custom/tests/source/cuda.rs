//! Skipped where there is no nvcc. Nothing here needs a GPU.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, iter};

use opforge_custom::source::{Flavour, Target};

use crate::bench::{Bench, call};

/// As users write them: nothing is included.
const ADD: &str = r#"
#define THREADS 256
__global__ void AddKernel(const float *x, const float *y, float *sum, size_t size) {
  size_t i = blockIdx.x * THREADS + threadIdx.x;
  if (i < size) sum[i] = x[i] + y[i];
}

extern "C" int Add(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  if (nparam != 3) return 1;
  for (int i = 0; i < nparam; i++) if (strcmp(dtypes[i], "float32") != 0) return 2;
  size_t size = 1;
  for (int i = 0; i < ndims[2]; i++) size *= shapes[2][i];
  AddKernel<<<(size + THREADS - 1) / THREADS, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<float *>(params[0]), static_cast<float *>(params[1]), static_cast<float *>(params[2]), size);
  return 0;
}

extern "C" int Value() { return VALUE; }
"#;

/// A bench that looks for nvcc in this project's Python environment too; none if there is none.
fn bench() -> Option<Bench> {
    let mut bench = Bench::new();
    bench.settings.cuda = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from).collect();
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv");
    bench.settings.python = env::var_os("VIRTUAL_ENV").map(PathBuf::from).or(Some(environment));
    bench.write("value.h", "#define VALUE 5\n");
    bench.write("k.cu", &format!("#include \"value.h\"\n{ADD}"));
    match bench.locate(&bench.path("k.cu")) {
        Err(error) if error.to_string().contains("no CUDA compiler") => {
            eprintln!("skipped: there is no nvcc");
            None
        }
        Err(error) => panic!("{error}"),
        Ok(_) => Some(bench),
    }
}

#[test]
fn cuda_sources_compile_and_link() {
    let Some(mut bench) = bench() else { return };
    let source = bench.path("k.cu");
    for flavour in [Flavour::Default, Flavour::MindSpore] {
        bench.options.flavour = flavour;
        let artifact = bench.locate(&source).unwrap();
        assert_eq!((artifact.target, call(&artifact, "Value")), (Target::Cuda, 5));
        assert!(artifact.sources.iter().any(|dependency| dependency.path.ends_with("value.h")));
        assert_eq!(bench.locate(&source).unwrap().file, artifact.file);
        let copy = bench.path("library.so");
        fs::copy(&artifact.file, &copy).unwrap();
        assert_eq!(bench.locate(&copy).unwrap().target, Target::Cuda);
    }
    bench.write("value.h", "#define VALUE 6\n");
    assert_eq!(bench.value(&source), 6);
}

#[test]
fn errors_in_cuda_sources_name_their_lines() {
    let Some(bench) = bench() else { return };
    let source = bench.write("broken.cu", "__global__ void f(float *x) {\n  x[0] = y;\n}\n");
    let text = bench.refusal(&source);
    let place = format!("{}(2)", source.canonicalize().unwrap().display());
    assert!(
        text.contains(&place) && text.contains("\"y\" is undefined") && text.contains("-gencode 'arch=compute_"),
        "{text}"
    );
}

#[test]
fn present_gpus_are_compiled_for() {
    let Some(mut bench) = bench() else { return };
    // Written by another process, as this one's threads may hold what it writes open, and then it cannot be executed.
    let (text, script) = (bench.write("smi", "#!/bin/sh\necho 9.0\necho 12.0\n"), bench.path("bin/nvidia-smi"));
    let mut install = Command::new("install");
    assert!(install.args(["-D", "-m", "755"]).args([text, script]).status().unwrap().success());
    let folders = env::split_paths(&bench.settings.path);
    bench.settings.path = env::join_paths(iter::once(bench.path("bin")).chain(folders)).unwrap();
    let text = bench.refusal(&bench.write("broken.cu", "x"));
    assert!(text.contains("code=[compute_90,sm_90]") && text.contains("code=sm_120"), "{text}");
}

#[test]
fn flags_choose_the_architecture() {
    let Some(mut bench) = bench() else { return };
    bench.options.flags = vec!["-arch=sm_90".to_owned()];
    assert_eq!(call(&bench.locate(&bench.path("k.cu")).unwrap(), "Value"), 5);
    let text = bench.refusal(&bench.write("broken.cu", "x"));
    assert!(text.contains("-arch=sm_90") && !text.contains("-gencode"), "{text}");
}
