SOURCE = pathlib.Path(__file__).with_name("$file")

$name = opforge.custom_op(f"{SOURCE}:$Name", gradient=opforge.custom_op(f"{SOURCE}:${Name}Gradient"))
