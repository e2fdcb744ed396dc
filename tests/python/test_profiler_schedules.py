"""Schedules of recordings, the files of recordings, and the names under which PyTorch's programs look for them."""

import gzip
import json

import pytest

import opforge as torch
from opforge.profiler import ProfilerAction, profile, record_function, schedule, tensorboard_trace_handler

LETTERS = {ProfilerAction.NONE: "-", ProfilerAction.WARMUP: "w", ProfilerAction.RECORD: "r", ProfilerAction.RECORD_AND_SAVE: "S"}


def actions(steps, **options):
    told = schedule(**options)
    return "".join(LETTERS[told(step)] for step in range(steps))


def test_a_schedule_tells_what_each_step_is_for():
    assert actions(10, wait=1, warmup=1, active=3) == "-wrrS-wrrS"
    assert actions(8, wait=1, warmup=0, active=1, repeat=2) == "-S-S----"
    assert actions(7, wait=1, warmup=1, active=1, skip_first=2) == "---wS-w"
    assert actions(7, wait=2, warmup=0, active=1, skip_first=1, skip_first_wait=1) == "-S--S--"
    assert actions(3, wait=0, warmup=0, active=1) == "SSS"


@pytest.mark.parametrize("wrong", [{"active": 0}, {"wait": -1}, {"repeat": -1}, {"skip_first": -2}])
def test_a_schedule_of_negative_steps_is_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        schedule(**{"wait": 1, "warmup": 1, "active": 1, **wrong})


def recorded(prof):
    return [event.name for event in prof.events() if event.is_user_annotation]


def run(steps, **options):
    """The steps' names in each recording that was handed over."""
    found = []
    with profile(on_trace_ready=lambda prof: found.append(recorded(prof)), **options) as prof:
        for step in range(steps):
            with record_function(str(step)):
                torch.ones(3).sum()
            prof.step()
    return found, prof


def test_the_steps_of_a_schedule_are_recorded():
    found, prof = run(8, schedule=schedule(wait=1, warmup=1, active=2))
    assert found == [["2", "3"], ["6", "7"]]
    assert prof.step_num == 8


def test_a_recording_that_the_end_cuts_short_is_handed_over():
    assert run(4, schedule=schedule(wait=1, warmup=0, active=5))[0] == [["1", "2", "3"]]


def test_without_a_schedule_all_steps_are_one_recording():
    assert run(3)[0] == [["0", "1", "2"]]


def test_a_recording_that_is_given_up_is_not_handed_over():
    found, prof = run(3, schedule=lambda step: ProfilerAction.RECORD if step == 1 else ProfilerAction.NONE)
    assert found == [] and recorded(prof) == ["1"]


def test_a_schedule_that_records_nothing_has_no_events_and_hinders_no_other():
    with profile(schedule=lambda step: ProfilerAction.NONE) as outer:
        with profile() as inner:
            torch.ones(3).sum()
    assert inner.events()
    with pytest.raises(RuntimeError, match="nothing has been recorded"):
        outer.events()


def test_stop_needs_a_start():
    with pytest.raises(RuntimeError, match="without start"):
        profile().stop()


@pytest.mark.parametrize("zipped", [False, True])
def test_recordings_are_files_for_tensorboard(tmp_path, zipped):
    handler = tensorboard_trace_handler(str(tmp_path / "logs"), "worker", use_gzip=zipped)
    with profile(on_trace_ready=handler):
        with record_function("here"):
            torch.ones(3).sum()
    (path,) = (tmp_path / "logs").iterdir()
    assert path.name.startswith("worker.") and path.name.endswith(".pt.trace.json" + ".gz" * zipped)
    text = gzip.decompress(path.read_bytes()) if zipped else path.read_bytes()
    assert "here" in {event["name"] for event in json.loads(text)["traceEvents"]}


def test_events_have_their_averages_and_files(tmp_path):
    prof = profile()
    assert prof.function_events is None
    with prof, record_function("here"):
        torch.ones(3).sum()
    events = prof.function_events
    assert [average.key for average in events.key_averages(group_by_input_shapes=False)] == [average.key for average in prof.key_averages()]
    events.export_chrome_trace(tmp_path / "trace.json")
    assert len(json.loads((tmp_path / "trace.json").read_text())["traceEvents"]) == len(events) == len(prof.events())


def test_a_program_can_ask_whether_a_profile_records():
    assert torch.autograd._profiler_enabled() is False
    with profile():
        assert torch.autograd._profiler_enabled() is True


def test_profiles_record_the_steps_of_a_schedule():
    steps = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    assert [steps(step).name for step in range(6)] == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]
    found = []
    with torch.profiler.profile(schedule=steps, on_trace_ready=lambda prof: found.append([e.name for e in prof.events() if e.is_user_annotation])) as prof:
        for step in range(6):
            with torch.profiler.record_function(str(step)):
                torch.ones(3).sum().item()
            prof.step()
    assert found == [["3", "4"]]
