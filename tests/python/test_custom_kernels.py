"""Operators from libraries and source files: loading, compiling, calling, isolating."""

import gc
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

import opforge as torch

KERNELS = pathlib.Path(__file__).parents[2] / "crates" / "opforge-custom" / "tests" / "kernels"

MAIN = 'extern "C" int {name}(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra)'
COUNT = "int64_t count = 1; for (int i = 0; i < ndims[0]; ++i) count *= shapes[0][i];"


def inline(body, name="F", head='#include "custom_aot_extra.h"', **options):
    """The operator of a main function with this body, which knows the number of elements of its first argument as `count`."""
    text = f"{head}\n{MAIN.format(name=name)} {{ {COUNT} (void)count; {body} }}\n"
    return torch.load_inline(text, name, **options)


TWICE = "for (int64_t i = 0; i < count; ++i) ((float *)params[1])[i] = 2 * ((float *)params[0])[i]; return 0;"


def in_child(code, **environment):
    """Runs Python code in a process of its own with further environment variables; gives what it printed."""
    environment = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_source_file_is_an_operator():
    add = torch.custom_op(f"{KERNELS}/add.cc:Add", shapes=0)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert add(x, x.T).tolist() == [[2.0, 5.0], [5.0, 8.0]]
    assert add(torch.tensor(1.5), torch.tensor(2.0)).item() == 3.5
    assert add(torch.empty(0, 3), torch.empty(0, 3)).shape == (0, 3)
    assert add(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta")).shape == (2, 3)
    big = torch.ones(3_000_000)
    assert add(big, big).sum().item() == 6_000_000


def test_a_built_library_is_an_operator(tmp_path):
    library = tmp_path / "add.so"
    subprocess.run(["c++", "-O2", "-shared", "-fPIC", "-o", library, KERNELS / "add.cc"], check=True)
    add = torch.custom_op(f"{library}:Add", shapes=lambda x, y: x, dtypes=lambda x, y: x)
    assert add(torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]


def test_attributes_of_all_types_come_by_registration_and_call():
    body = """
      auto *a = static_cast<AotExtra *>(extra);
      auto *out = (float *)params[1];
      out[0] = a->Attr<bool>("b"); out[1] = a->Attr<int64_t>("i"); out[2] = a->Attr<float>("x");
      out[3] = a->Attr<std::string>("s").size(); out[4] = a->Attr<std::vector<int64_t>>("is").at(1);
      out[5] = a->Attr<std::vector<float>>("xs").at(1); out[6] = a->Attr<std::vector<std::vector<int64_t>>>("iss").at(1).at(0);
      out[7] = a->Attr<std::vector<std::vector<float>>>("xss").at(1).at(0); return 0;
    """
    fixed = {"b": True, "i": 3, "x": 0.5, "s": "four", "is": [1, 5], "xs": [0.5, 6.5], "iss": [[], [7]], "xss": [[0.5], [8.5]]}
    expected = [1.0, 3.0, 0.5, 4.0, 5.0, 6.5, 7.0, 8.5]
    x = torch.zeros(8)
    assert inline(body, shapes=0, attributes=fixed)(x).tolist() == expected
    assert inline(body, shapes=0)(x, **fixed).tolist() == expected
    assert inline(body, shapes=0, positional=list(fixed))(x, *fixed.values()).tolist() == expected
    schema = "(Tensor x, bool b, int i, float x_, str s, int[] is, float[] xs, int[][] iss, float[][] xss) -> Tensor"
    schema = schema.replace("x_", "x").replace("(Tensor x", "(Tensor t")
    assert inline(body, shapes=0, schema=schema)(x, *fixed.values()).tolist() == expected
    assert inline(body, shapes=0, schema=schema, attributes=fixed)(x, i=9).tolist()[1] == 9.0
    with pytest.raises(torch.CustomOpError, match="there is no attribute 'b'"):
        inline(body, shapes=0)(x)
    with pytest.raises(torch.CustomOpError, match="attribute 'b' is an int, read as a bool"):
        inline(body, shapes=0)(x, **{**fixed, "b": 1})


def test_several_outputs_and_a_workspace():
    head = """
      #include "custom_aot_extra.h"
      extern "C" int FInit(int *ndims, int64_t **shapes, const char **, AotExtra *extra) {
        extra->SetWorkSpace({shapes[0][0] * sizeof(float)}); return 0; }
      extern "C" std::vector<std::vector<int64_t>> FInferShape(int *ndims, int64_t **shapes, AotExtra *) { return {{shapes[0][0]}, {}}; }
    """
    body = """
      auto *x = (float *)params[0], *y = (float *)params[1], *sum = (float *)params[2], *tmp = (float *)params[3];
      if (nparam != 4) return 1;
      *sum = 0;
      for (int64_t i = 0; i < count; ++i) { tmp[i] = x[i] * x[i]; }
      for (int64_t i = 0; i < count; ++i) { y[i] = tmp[i]; *sum += tmp[i]; }
      return 0;
    """
    squares, total = inline(body, head=head, outputs=2)(torch.tensor([1.0, 2.0, 3.0]))
    assert squares.tolist() == [1.0, 4.0, 9.0] and total.shape == () and total.item() == 14.0


def test_inference_knows_unknown_shapes():
    op = torch.custom_op(f"{KERNELS}/muladd.cc:MulAdd", schema="(Tensor x, Tensor y, *, float shift=0.5) -> Tensor")
    unknown = ([None, 4], torch.float32)
    assert op.infer(unknown, unknown) == [([-1, 4], torch.float32)]


def test_arguments_are_changed_in_place():
    body = "for (int64_t i = 0; i < count; ++i) ((float *)params[0])[i] += 1; return 0;"
    increment = inline(body, schema="(Tensor(a!) x) -> Tensor(a!)")
    x = torch.zeros(2, 3)
    before = x._version
    assert increment(x) is x and x.sum().item() == 6.0 and x._version == before + 1
    increment(x.T[1:])
    assert x.tolist() == [[1.0, 2.0, 2.0], [1.0, 2.0, 2.0]]
    silent = inline(body, schema="(Tensor(a!) x) -> ()")
    assert silent(x[0]) is None and x[0].tolist() == [2.0, 3.0, 3.0]
    with pytest.raises(RuntimeError, match="leaf"):
        increment(torch.ones(1, requires_grad=True))


def test_gradients_come_from_functions_and_operators():
    twice = inline(TWICE, shapes=0)
    twice.register_autograd(lambda ctx, grad: twice(grad))
    x = torch.ones(3, requires_grad=True)
    twice(twice(x)).sum().backward()
    assert x.grad.tolist() == [4.0] * 3
    gradient = inline(
        "for (int64_t i = 0; i < count; ++i) ((float *)params[3])[i] = 2 * ((float *)params[2])[i]; return 0;", name="G", shapes=0
    )
    twice = inline(TWICE, shapes=0, gradient=gradient)
    twice(x).sum().backward()
    assert x.grad.tolist() == [6.0] * 3


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("return 7;", "returned error code 7"),
        ('throw std::runtime_error("on purpose");', "on purpose"),
        ("throw 3;", "exception"),
        ('throw "text";', "text"),
        ('static_cast<AotExtra *>(extra)->Attr<int64_t>("axis"); return 0;', "there is no attribute 'axis'"),
    ],
)
def test_failures_are_errors_that_name_everything(isolate, body, text):
    op = inline(body, head='#include <stdexcept>\n#include "custom_aot_extra.h"', shapes=0, name="Fails", isolate=isolate)
    with pytest.raises(torch.CustomOpError) as caught:
        op(torch.ones(2)).tolist()
    assert text in str(caught.value) and "Fails" in str(caught.value)


def test_a_library_says_what_went_wrong():
    head = '#include "opforge/kernel.h"\nextern "C" const char *FLastError() { return "the moon is full"; }'
    with pytest.raises(torch.CustomOpError, match="error code 2: the moon is full"):
        inline("return 2;", head=head, shapes=0)(torch.ones(1)).tolist()


@pytest.mark.parametrize(
    ("infer", "text"),
    [("{-5}", "negative"), ("{-1}", "inputs are known"), ("{int64_t(1) << 62, 4}", "address space")],
)
def test_wrong_inferred_shapes_are_errors(infer, text):
    head = f"""#include "custom_aot_extra.h"
      extern "C" std::vector<int64_t> FInferShape(int *, int64_t **, AotExtra *) {{ return {infer}; }}"""
    with pytest.raises((torch.CustomOpError, ValueError, MemoryError), match=text):
        inline("return 0;", head=head)(torch.ones(1)).tolist()


@pytest.mark.parametrize("size", ["size_t(-4)", "size_t(1) << 60"])
def test_absurd_workspaces_are_errors(size):
    head = f"""#include "custom_aot_extra.h"
      extern "C" int FInit(int *, int64_t **, const char **, AotExtra *extra) {{ extra->SetWorkSpace({{{size}}}); return 0; }}"""
    with pytest.raises(torch.CustomOpError, match="workspace 0"):
        inline("return 0;", head=head, shapes=0)(torch.ones(1)).tolist()


def test_nothing_is_prepared_for_tensors_without_data():
    head = """#include "custom_aot_extra.h"
      extern "C" int FInit(int *, int64_t **, const char **, AotExtra *) { return 7; }"""
    op = inline("return 0;", head=head, shapes=0)
    assert op(torch.empty(2, 3, device="meta")).shape == (2, 3)
    with pytest.raises(torch.CustomOpError, match="FInit returned error code 7"):
        op(torch.empty(2, 3))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("*(volatile int *)8 = 1; return 0;", "SIGSEGV"),
        ("abort();", "SIGABRT"),
        ("_exit(3);", "3"),
        ("for (volatile int i = 0;;) ++i;", "limit"),
        ("((float *)params[0])[0] = 5; return 0;", "input"),
        ("for (int i = 0; i < 100000; ++i) ((float *)params[1])[i] = 0; return 0;", "output"),
    ],
)
def test_isolated_operators_harm_nobody(body, text):
    source = f"if (((float *)params[0])[0] < 0) {{ {body} }} {TWICE}"
    head = '#include <stdlib.h>\n#include <unistd.h>\n#include "custom_aot_extra.h"'
    op = inline(source, head=head, shapes=0, name="Harms", isolate=True, timeout=0.3)
    assert op(torch.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(torch.CustomOpError, match=text) as caught:
        op(-torch.ones(2)).tolist()
    assert "Harms" in str(caught.value)
    assert op(torch.ones(3)).tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("func", "text"),
    [
        ("nowhere.cc:F", "No such file"),
        (f"{KERNELS}/add.cc:add", "did you mean Add"),
        (f"{__file__}:F", "cannot be opened"),
        ("no-colon", "path:Name"),
    ],
)
def test_what_cannot_be_loaded_is_told(func, text):
    with pytest.raises((torch.CustomOpError, ValueError), match=text):
        torch.custom_op(func)


def test_a_missing_dependency_is_told_in_the_loaders_words(tmp_path):
    (tmp_path / "dep.c").write_text("int dep(void) { return 0; }")
    (tmp_path / "op.c").write_text("int dep(void); int F(void) { return dep(); }")
    for name, extra in (("dep", []), ("op", ["-L.", "-ldep"])):
        command = ["cc", "-shared", "-fPIC", "-o", f"lib{name}.so", f"{name}.c", *extra]
        subprocess.run(command, check=True, cwd=tmp_path)
    (tmp_path / "libdep.so").unlink()
    with pytest.raises(torch.CustomOpError, match="libdep.so: cannot open shared object file"):
        torch.custom_op(f"{tmp_path}/libop.so:F")


def test_compile_errors_show_the_source():
    with pytest.raises(torch.CustomOpError, match=r"'nonsense' was not declared in this scope\n.*return nonsense;") as caught:
        inline("return nonsense;")
    assert "command:" in str(caught.value)


def test_int_and_double_attributes_do_not_compile():
    for kind in ("int", "double"):
        with pytest.raises(torch.CustomOpError, match="T must be bool, int64_t, float"):
            inline(f'return static_cast<AotExtra *>(extra)->Attr<{kind}>("a");')


def test_changed_sources_are_loaded_again(tmp_path):
    source = tmp_path / "op.cc"
    text = (KERNELS / "add.cc").read_text()
    source.write_text(text)
    op = torch.custom_op(f"{source}:Add", shapes=0)
    watching = torch.custom_op(f"{source}:Add", shapes=0, reload=True)
    x = torch.ones(2)
    assert op(x, x).tolist() == [2.0, 2.0] == watching(x, x).tolist() and not op.reload()
    source.write_text(text.replace("x[i] + y[i]", "x[i] - y[i]"))
    assert watching(x, x).tolist() == [0.0, 0.0]
    assert op(x, x).tolist() == [2.0, 2.0]
    assert op.reload() and op(x, x).tolist() == [0.0, 0.0]
    assert torch.custom_op(f"{source}:Add", shapes=0)(x, x).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("variable", ["MS_CUSTOM_AOT_WHITE_LIST", "OPFORGE_CUSTOM_ALLOW"])
def test_only_what_is_allowed_is_loaded(tmp_path, variable):
    allowed, evil = tmp_path / "ops", tmp_path / "ops-evil"
    for folder in (allowed, evil):
        folder.mkdir()
        shutil.copy(KERNELS / "add.cc", folder)
    (allowed / "link.cc").symlink_to(evil / "add.cc")
    code = f"""
        import opforge
        x = opforge.ones(1)
        for path in {[f"{allowed}/add.cc", f"{evil}/add.cc", f"{allowed}/../ops-evil/add.cc", f"{allowed}/link.cc"]!r}:
            try:
                print(opforge.custom_op(path + ":Add", shapes=0)(x, x).item())
            except opforge.CustomOpError as error:
                print({variable!r} in str(error))
    """
    assert in_child(code, **{variable: str(allowed)}).split() == ["2.0", "True", "True", "True"]
    assert in_child(code, **{variable: ""}).split() == ["True"] * 4


def test_compiling_can_be_forbidden(tmp_path):
    shutil.copy(KERNELS / "add.cc", tmp_path)
    code = f"""
        import opforge
        try:
            opforge.custom_op("{tmp_path}/add.cc:Add")
        except opforge.CustomOpError as error:
            print("-shared" in str(error))
    """
    assert in_child(code, OPFORGE_CUSTOM_COMPILE="0", OPFORGE_CUSTOM_CACHE=str(tmp_path / "cache")).split() == ["True"]


def test_kernel_data_goes_before_its_library(tmp_path):
    """A destructor that ran in unmapped code would end the process."""
    log = tmp_path / "log"
    head = f"""
      #include <cstdio>
      #include "custom_aot_extra.h"
      struct Data : AotKernelData {{ ~Data() {{ if (FILE *f = fopen("{log}", "a")) {{ fputs("gone\\n", f); fclose(f); }} }} }};
      extern "C" int FInit(int *, int64_t **, const char **, AotExtra *extra) {{ extra->SetKernelData(new Data); return 0; }}
    """
    code = f"""
        import opforge, gc
        op = opforge.load_inline({head + MAIN.format(name="F") + "{ return 0; }"!r}, "F", shapes=0)
        op(opforge.ones(1)), op(opforge.ones(2))
        del op
        gc.collect()
    """
    in_child(code)
    assert log.read_text() == "gone\n" * 2


def test_headers_are_where_include_dir_says():
    folder = pathlib.Path(torch.include_dir())
    assert (folder / "custom_aot_extra.h").is_file() and (folder / "opforge" / "kernel.h").is_file()


def test_cuda_sources_are_compiled_and_refuse_tensors_elsewhere(tmp_path):
    source = tmp_path / "add.cu"
    source.write_text("""
        __global__ void Kernel(const float *x, const float *y, float *out, size_t n) {
          const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
          if (i < n) out[i] = x[i] + y[i];
        }
        extern "C" int Add(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
          if (nparam != 3 || strcmp(dtypes[0], "float32") != 0) return 1;
          size_t n = 1;
          for (int i = 0; i < ndims[2]; i++) n *= shapes[2][i];
          Kernel<<<n / 256 + 1, 256, 0, static_cast<cudaStream_t>(stream)>>>(
              static_cast<float *>(params[0]), static_cast<float *>(params[1]), static_cast<float *>(params[2]), n);
          return 0;
        }
    """)
    try:
        op = torch.custom_op(f"{source}:Add", shapes=0)
    except torch.CustomOpError as error:
        if "nvcc" in str(error) and "not found" in str(error).lower():
            pytest.skip("no nvcc")
        raise
    assert op.infer(([2], torch.float32), ([2], torch.float32)) == [([2], torch.float32)]
    with pytest.raises(torch.CustomOpError, match="NVIDIA"):
        op(torch.ones(2), torch.ones(2))


def test_an_operator_lets_go_of_its_worker():
    op = inline(TWICE, shapes=0, isolate=True)
    assert op(torch.ones(1)).tolist() == [2.0]
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children")
    if not children.exists():
        pytest.skip("children are not listed here")
    before = set(children.read_text().split())
    del op
    gc.collect()
    torch.ones(3).add(1)
    assert len(set(children.read_text().split())) < len(before)


def test_what_can_be_no_cache_is_a_typed_error(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for cache in ("/dev/null", str(file), "", "x" * 300, "nul\0byte", str(file / "below")):
        with pytest.raises(torch.ArgumentError, match="cache: .*accepted: a folder") as caught:
            inline(TWICE, shapes=0, cache=cache)
        assert repr(cache)[1:5] in str(caught.value)
    others = tmp_path / "others"
    others.mkdir()
    others.chmod(0o777)
    with pytest.raises(torch.CustomOpError, match="may be written to by others"):
        inline(TWICE, shapes=0, cache=others)


def test_caches_are_private_whatever_the_umask(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        assert inline(TWICE, shapes=0, cache=cache)(torch.ones(2)).tolist() == [2.0, 2.0]
    finally:
        os.umask(before)
    made = list(cache.rglob("*"))
    assert len(made) > 5 and not [path for path in made if path.stat().st_mode & 0o077]


def test_a_compiler_that_writes_nothing_is_named(tmp_path):
    code = """
        import opforge as torch
        try:
            torch.load_inline("", "F")
        except torch.CustomOpError as error:
            print(error)
    """
    text = in_child(code, CXX="true", OPFORGE_CUSTOM_CACHE=str(tmp_path / "cache"))
    assert "true ended with success, but did not write the library" in text and "command: " in text


def test_flags_are_held_to_an_allow_list(tmp_path, monkeypatch):
    monkeypatch.setenv("OPFORGE_CUSTOM_ALLOW", str(KERNELS))
    for flags in (["-include", "/etc/passwd"], ["-wrapper", "/bin/echo"], [str(tmp_path / "evil.o")], ["-fplugin=x.so"]):
        with pytest.raises(torch.CustomOpError, match="the flag .* is not accepted while OPFORGE_CUSTOM_ALLOW is set"):
            torch.custom_op(f"{KERNELS}/add.cc:Add", shapes=0, flags=flags)
    add = torch.custom_op(f"{KERNELS}/add.cc:Add", shapes=0, flags=["-O3", "-march=native"])
    assert add(torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
def test_isolated_operators_have_a_memory_limit_and_send_no_signals():
    head = '#include <signal.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include "custom_aot_extra.h"'
    take = "volatile char *much = (volatile char *)malloc(1 << 30); much[0] = 1; return much[0] == 1 ? 0 : 1;"
    op = inline(take, head=head, shapes=0, name="Takes", isolate=True, memory=1 << 28)
    with pytest.raises(torch.CustomOpError, match=r"Takes.*asked for 1073741824 bytes beyond its memory limit of 268435456 bytes"):
        op(torch.ones(1)).tolist()
    with pytest.raises(torch.ArgumentError, match="memory limit: 5 bytes"):
        inline(take, head=head, shapes=0, name="Takes", isolate=True, memory=5)
    kill = inline("return kill(getppid(), SIGTERM) == 0 ? 0 : 3;", head=head, shapes=0, name="Kills", isolate=True)
    with pytest.raises(torch.CustomOpError, match="returned error code 3"):
        kill(torch.ones(1)).tolist()
