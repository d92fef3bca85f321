"""ROCm by HIP's runtime, of which there is a fake as well: the same in Python, with the names of its devices."""

import os
import subprocess
import sys

from conftest import HIP_LIBRARY

PROGRAM = """
import dlpark, numpy as np
import ctypes, os
numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
for device in ("rocm:0", "rocm:1", "rocm_host"):
    there = dlpark.from_dlpack(numbers).to(device)
    assert (there.device, there.__dlpack_device__()[0]) == (device, 11 if device == "rocm_host" else 10)
    np.testing.assert_array_equal(there[:, ::-1].to("cpu").numpy(), numbers[:, ::-1])
there = dlpark.from_dlpack(numbers, device="rocm:0")
np.testing.assert_array_equal(there.to("rocm:1")[1].to("cpu").numpy(), numbers[1])
there.__dlpack__(stream=0, max_version=(1, 3))
with dlpark.stream(0, "rocm:0"):
    assert dlpark.from_dlpack(there.__dlpack__(dl_device=(1, 0), max_version=(1, 3))).is_copied
for use in (lambda: dlpark.empty(3, device="rocm:7"), lambda: there.tolist(), lambda: there.to("cuda:0")):
    try:
        use()
    except (ValueError, TypeError) as error:
        print(error)
del there, use
print(ctypes.CDLL(os.environ["FAKE"]).fake_live_all())
"""


def test_there_and_back_by_hip():
    env = {name: value for name, value in os.environ.items() if name != "DLPARK_CUDA_LIBRARY"}
    env |= {"DLPARK_HIP_LIBRARY": str(HIP_LIBRARY), "FAKE": os.environ["DLPARK_CUDA_LIBRARY"]}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    no_device, no_host, no_way, live = done.stdout.splitlines()
    assert no_device.startswith("rocm:7: there is no device 7 of ROCm, they are 0 to 1")
    assert "rocm:0" in no_host and "to('cpu')" in no_host
    assert "not from rocm:0 to cuda:0" in no_way and live == "0"
