FOLDER = pathlib.Path(__file__).parent
subprocess.run(["cargo", "build", "--release", "--quiet", "--target-dir", FOLDER / "target"], cwd=FOLDER, check=True)
LIBRARY = FOLDER / "target" / "release" / ("lib$name.dylib" if sys.platform == "darwin" else "lib$name.so")

gradient = opforge.custom_op(f"{LIBRARY}:${Name}Gradient", schema="(Tensor x, Tensor y, Tensor dy, *, float scale=1.0) -> Tensor")
$name = opforge.custom_op(f"{LIBRARY}:$Name", schema="(Tensor x, *, float scale=1.0) -> Tensor", gradient=gradient)
