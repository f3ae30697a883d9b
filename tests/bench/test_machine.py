"""The machine is described in words that name no machine."""

import getpass
import os
import platform

from tests.bench import machine


def test_machine_is_described_without_naming_it() -> None:
    said = machine.describe()

    assert said["cores"] == str(os.cpu_count())
    assert platform.python_version() in said["Python"]
    assert all(text and "/" not in text for text in said.values())
    assert not any(platform.node() and platform.node() in text for text in said.values())
    assert not any(getpass.getuser() in text.split() for text in said.values())


def test_version_of_the_kernel_is_cut_to_what_matters() -> None:
    assert machine.describe()["system"].count(".") <= 1
    assert "-" not in machine.describe()["system"]
