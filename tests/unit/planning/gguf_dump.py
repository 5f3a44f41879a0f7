"""Prints what the gguf library reads in a file: a line for each key and each tensor, as gguf_oracle_test prints them."""
import sys

from gguf import GGUFReader, GGUFValueType

REAL = (GGUFValueType.FLOAT32, GGUFValueType.FLOAT64)


def shown(field) -> str:
    kind = field.types[0]
    if kind == GGUFValueType.ARRAY:
        return f"array {len(field.data)}"
    value = field.contents()
    if kind == GGUFValueType.STRING:
        return f"text {len(value.encode())}"
    if kind == GGUFValueType.BOOL:
        return f"bool {int(value)}"
    return f"real {value:.6e}" if kind in REAL else f"int {value}"


reader = GGUFReader(sys.argv[1])
for name, field in reader.fields.items():
    if not name.startswith("GGUF."):
        print("key", name, shown(field))
for t in reader.tensors:
    print("tensor", t.name, int(t.tensor_type), ",".join(str(int(n)) for n in t.shape), int(t.data_offset), int(t.n_bytes))
