#!/usr/bin/env python3
"""Writes the seeds of gguf_fuzz: small files, each with one thing that a header may have. Rewrites corpus/gguf."""
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "testbed"))
from make_sparse_k3 import Shard, Tensor, boolean, f32, i32, i32s, padded, string, strings, u16, u32  # noqa: E402

SPLIT = {"split.no": u16(0), "split.count": u16(2), "split.tensors.count": i32(1)}
TYPES = {"u8": struct.pack("<IB", 0, 1), "i8": struct.pack("<Ib", 1, -1), "u16": u16(2), "i16": struct.pack("<Ih", 3, -2),
         "u32": u32(3), "i32": i32(-3), "f32": f32(0.5), "bool": boolean(True), "text": string("kimi-k3"),
         "u64": struct.pack("<IQ", 10, 1 << 40), "i64": struct.pack("<Iq", 11, -4), "f64": struct.pack("<Id", 12, 1e-5)}
ARRAYS = {"ints": i32s([0, 0, 1]), "texts": strings(["a", "bc"]), "reals": struct.pack("<IIQ2f", 9, 6, 2, 0.5, 1.0),
          "nested": struct.pack("<IIQ", 9, 9, 1)}
TENSORS = [Tensor("a.weight", (8, 3), "F32"), Tensor("b.weight", (64, 2), "Q8_0"), Tensor("c.weight", (256, 2, 2), "IQ2_XXS")]


def file(keys: dict[str, bytes], tensors=(), version: int = 3) -> bytes:
    shard = Shard(list(tensors))
    header = shard.header(keys)
    header = header[:4] + struct.pack("<I", version) + header[8:]
    size = padded(len(header)) + sum(padded(t.size()) for t in tensors) if tensors else len(header)
    return header.ljust(size, b"\0")


SEEDS = {
    "empty": file({}),
    "every_type": file(TYPES),
    "arrays": file({key: ARRAYS[key] for key in ("ints", "texts", "reals")}),
    "nested_array": file({"nested": ARRAYS["nested"]}),
    "skipped_arrays": file({"tokens": strings(["x"] * 1030), "kinds": i32s([1] * 1030), "after": u32(1)}, TENSORS[:1]),
    "tensors": file({"general.architecture": string("kimi-k3")}, TENSORS),
    "alignment": file({"general.alignment": u32(32)}, TENSORS[1:]),
    "version_2": file({"general.name": string("m")}, TENSORS[:1], version=2),
    "first_of_two": file({"general.architecture": string("kimi-k3"), **SPLIT}),
    "twice": file({"a": u32(1)}, TENSORS[:1] * 2),
    "cut_header": file({"general.architecture": string("kimi-k3")}, TENSORS)[:100],
    "cut_data": file({"general.architecture": string("kimi-k3")}, TENSORS)[:-300],
}


def main() -> None:
    folder = HERE / "corpus" / "gguf"
    folder.mkdir(exist_ok=True)
    for name, content in SEEDS.items():
        (folder / name).write_bytes(content)
    print(f"{len(SEEDS)} seeds")


if __name__ == "__main__":
    main()
