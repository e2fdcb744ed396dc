"""Settings under MindSpore's names."""

import pytest

import opforge
import opforge.mindspore as ms


def test_context():
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU", save_graphs=True)
    assert ms.get_context("mode") == ms.GRAPH_MODE == ms.context.GRAPH_MODE
    ms.context.set_context(mode=ms.context.PYNATIVE_MODE)
    assert ms.get_context("mode") == 1
    ms.set_device(device_target="CPU")
    assert ms.get_current_device() == ("CPU", 0)
    with pytest.raises(ValueError, match="'foo'.*device_target"):
        ms.set_context(foo=1)
    with pytest.raises(ValueError, match="'foo'"):
        ms.get_context("foo")
    with pytest.raises(ValueError, match="not 5"):
        ms.set_context(mode=5)
    with pytest.raises(ValueError, match="TPU"):
        ms.set_device("TPU")
    with pytest.raises(RuntimeError, match="Ascend.*accepted: CPU"):
        ms.set_device("Ascend")


@pytest.mark.skipif(opforge.cuda.is_available(), reason="there is a GPU")
def test_no_gpu():
    with pytest.raises(RuntimeError, match="GPU.*accepted: CPU"):
        ms.set_device("GPU")
    assert ms.get_context("device_target") == "CPU"
