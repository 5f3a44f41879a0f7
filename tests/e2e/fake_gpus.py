"""A machine's GPUs, played by a library in NVML's place (tests/doubles/fake_nvml.cpp)."""
import os

from daemon import BUILD

CARD = "GPU-00000000-0000-4000-8000-000000000000"  # of tests/testbed/cdi as well
GIB = 1 << 30


def card(used: int, uuid: str = CARD, bus: int = 1) -> str:
    return f"card 00000000:{bus:02x}:00.0 {uuid} {141 * GIB} {used} 35 NVIDIA H200"


class FakeGpus:
    """.show() is what every later call of the driver tells."""

    def __init__(self, folder):
        self.file = folder / "gpus.nvml"
        self.environment = {"LD_LIBRARY_PATH": str(BUILD / "fake-nvml"), "K3D_FAKE_NVML": str(self.file)}
        assert (BUILD / "fake-nvml" / "libnvidia-ml.so.1").exists(), "build the target fake_nvml"

    def show(self, *cards_and_processes):
        new = self.file.with_suffix(".new")
        new.write_text("".join(line + "\n" for line in cards_and_processes))
        os.replace(new, self.file)
