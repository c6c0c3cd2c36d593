"""What XLA on the CPU cannot judge: broadcasts, ragged exchanges, send and recv, the host. By definition."""

from __future__ import annotations

import re

import numpy as np
import pytest

import xla2py
from xla2py.tests.replicas.programs import SeveralDevices, entry
from xla2py.transpile.errors import HloVerificationError, UnsupportedError
from xla2py.transpile.hlo.parser import parse_module


def run(body: str, *inputs: list, replicas: int = 4, **host) -> list:
    return xla2py.emit(SeveralDevices("", body, replicas).module()).load().run_local(inputs, **host)


X = [np.full((2, 3), k + 1, np.float32) for k in range(4)]


def test_devices_are_numbered_by_replica_and_partition():
    lines = ["r = u32[] replica-id()", "p = u32[] partition-id()", "ROOT t = (u32[], u32[]) tuple(r, p)"]
    module = SeveralDevices("", entry(*lines, sizes=""), 2, 3).module()
    results = xla2py.emit(module).load().run_local([[np.float32(0)]] * 6)
    assert results == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert {type(part) for result in results for part in result} == {np.uint32}


def broadcast(groups: str) -> list:
    line = f"ROOT r = f32[2,3] collective-broadcast(x), replica_groups={groups}"
    return run(entry(line, sizes="2,3"), *([x] for x in X))


@pytest.mark.parametrize("groups", ["{{0,1},{},{},{}}", "{{0},{1},{},{}}"])
def test_as_many_groups_as_replicas_need_not_be_one_each(groups):
    first = [X[0], X[0] if "0,1" in groups else X[1]]
    np.testing.assert_array_equal(broadcast(groups), [*first, 0 * X[2], 0 * X[3]])


def test_a_device_in_no_group_is_refused():
    line = "ROOT r = f32[2,3] all-to-all(x), dimensions={0}, replica_groups={{0,1}}"
    text = SeveralDevices("", entry(line, sizes="2,3")).text
    with pytest.raises(HloVerificationError, match="name 2 replicas of 4"):
        xla2py.emit(text)
    with pytest.raises(UnsupportedError, match="XP304: replica 2 is in none of the groups of all-to-all"):
        xla2py.emit(parse_module(text))  # not verified


@pytest.mark.parametrize(
    ("groups", "sums"),
    [("{{0,1},{3,2}}", {0: 3, 3: 7}), ("{}", {0: 10}), ("{{0},{1},{2},{3}}", {0: 1, 1: 2, 2: 3, 3: 4})],
)
def test_a_sum_for_the_first_of_a_group_and_zeros_for_others(groups, sums):
    """XLA on the CPU has no such sum; StableHLO's interpreter gives zeros."""
    line = f"ROOT r = f32[2,3] collective-reduce(x), to_apply=add, replica_groups={groups}, has_dynamic_root=false"
    expected = [np.full((2, 3), sums.get(k, 0), np.float32) for k in range(4)]
    np.testing.assert_array_equal(run(entry(line, sizes="2,3"), *([x] for x in X)), expected)


@pytest.mark.parametrize("call", ["collective-broadcast(x, n)", "collective-reduce(x, n), to_apply=add"])
def test_a_root_that_the_program_computes_is_refused(call):
    lines = ["n = f32[2,3] negate(x)", f"ROOT r = (f32[2,3], f32[2,3]) {call}, has_dynamic_root=true"]
    text = SeveralDevices("", entry(*lines, sizes="2,3")).text
    with pytest.raises(UnsupportedError, match=r"XP304: collective-.* with a root that is an operand is not supported"):
        xla2py.emit(text)


def test_a_broadcast_is_of_the_first_of_a_group():
    results = broadcast("{{2,0},{1,3}}")
    np.testing.assert_array_equal(results, [X[2], X[1], X[2], X[1]])
    assert len({id(result) for result in results}) == 4


def test_a_broadcast_gives_zeros_to_who_is_in_no_group():
    np.testing.assert_array_equal(broadcast("{{2,0}}"), [X[2], 0 * X[1], X[2], 0 * X[3]])


RAGGED = """ENTRY main {
  x = f32[4] parameter(0)
  y = f32[5] parameter(1)
  starts = s32[2] parameter(2)
  sizes = s32[2] parameter(3)
  places = s32[2] parameter(4)
  arriving = s32[2] parameter(5)
  ROOT r = f32[5] ragged-all-to-all(x, y, starts, sizes, places, arriving), replica_groups={{0,1}}
}
"""


def ragged(*lists):
    return [np.array(a, d) for a, d in zip(lists, ["f4", "f4", "i4", "i4", "i4", "i4"], strict=True)]


# 0 keeps row 1 and sends 2 3 4 to place 1 of replica 1; 1 sends 7 to place 4 of replica 0 and keeps 5.
RUNS = (
    ragged([1, 2, 3, 4], [0] * 5, [0, 1], [1, 3], [0, 1], [1, 1]),
    ragged([5, 6, 7, 8], [9] * 5, [2, 0], [1, 1], [4, 0], [3, 1]),
)


def test_ragged_rows_go_where_their_sender_says():
    results = run(RAGGED, *RUNS, replicas=2)
    np.testing.assert_array_equal(results, [[1, 0, 0, 0, 7], [5, 2, 3, 4, 9]])


TRANSFER = """ENTRY main {{
  x = f32[3] parameter(0)
  t = token[] after-all()
  {0}
  data = (f32[3], token[]) recv-done(r), channel_id=7
  done = token[] send-done(s), channel_id=7
  ROOT y = f32[3] get-tuple-element(data), index=0
}}
"""
RECV = "r = (f32[3], u32[], token[]) recv(t), channel_id=7{}\n  "
SEND = "s = (f32[3], u32[], token[]) send(x, t), channel_id=7{}\n  "
PAIRS = ', frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1},{1,2},{2,0}}"}'


@pytest.mark.parametrize("order", [RECV + SEND, SEND + RECV], ids=["recv first", "send first"])
def test_send_and_recv_between_replicas(order):
    results = run(TRANSFER.format(order.format(PAIRS, PAIRS)), *([x[0]] for x in X))
    np.testing.assert_array_equal(results, [X[2][0], X[0][0], X[1][0], 0 * X[0][0]])


def test_send_and_recv_by_sharding():
    order = RECV.format(", sharding={maximal device=1}") + SEND.format(", sharding={maximal device=3}")
    results = run(TRANSFER.format(order), *([x[0]] for x in X))
    np.testing.assert_array_equal(results, [0 * X[0][0], X[3][0], 0 * X[0][0], 0 * X[0][0]])


@pytest.mark.parametrize("replicas", [1, 2])
def test_without_pairs_a_replica_sends_to_itself(replicas):
    module = SeveralDevices("", TRANSFER.format(RECV.format("") + SEND.format("")), replicas).module()
    emitted = xla2py.emit(module).load()
    given = [x[0] for x in X[:replicas]]
    results = [emitted.main(*given)] if replicas == 1 else emitted.run_local([[x] for x in given])
    np.testing.assert_array_equal(results, given)


@pytest.mark.parametrize(
    ("pairs", "other", "fault"),
    [
        ("{0,1},{2,1}", None, "channel 7 sends to replica 1 2 times"),
        ("{0,1},{0,2}", None, "channel 7 sends from replica 0 2 times"),
        ("{0,1},{1,4}", None, "channel 7 names replica 4 of 4"),
        ("{0,1}", "{1,0}", "of one channel and name different pairs"),
    ],
)
def test_pairs_that_make_no_transfer_are_refused(pairs, other, fault):
    given = [PAIRS.replace("{0,1},{1,2},{2,0}", text) for text in (pairs, other or pairs)]
    text = SeveralDevices("", TRANSFER.format(RECV.format(given[0]) + SEND.format(given[1]))).text
    with pytest.raises(UnsupportedError, match=fault) as refusal:
        xla2py.emit(text)
    assert refusal.value.diagnostics[0].code == "XP361"


@pytest.mark.parametrize(
    ("counts", "among", "pair", "fault"),
    [
        ("replica_count=4", "", "0,9", "names replica 9, and the module is for 4 replicas"),
        ("replica_count=2", "channel_id=1, ", "0,1", "names partition 1 .*, and the module is for one partition"),
        ("num_partitions=4", "channel_id=1, ", "0,9", "names partition 9 .*, and the module is for 4 partitions"),
        ("replica_count=2, num_partitions=2", "channel_id=1, ", "0,9", "names partition 9 .* for 2 partitions"),
        ("replica_count=2, num_partitions=2", "", "0,3", "names replica 3, and the module is for 2 replicas"),
    ],
)
def test_who_is_not_there_is_named_by_the_number_in_the_text(counts, among, pair, fault):
    line = f"ROOT r = f32[2,3] collective-permute(x), {among}source_target_pairs={{{{{pair}}}}}"
    text = f"HloModule m, {counts}\n" + entry(line, sizes="2,3")
    with pytest.raises(UnsupportedError, match=f"XP304: collective-permute {fault}"):
        xla2py.emit(parse_module(text))


@pytest.mark.parametrize(
    ("counts", "line", "fault"),
    [
        ("", "f32[4,3] all-gather(x), replica_groups={}, dimensions={0}", "groups of 2 devices"),
        ("", "(f32[2,3], f32[4,3]) all-gather-start(x), replica_groups={}, dimensions={0}", "groups of 2 devices"),
        ("", "f32[1,3] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=add", "groups of 2 devices"),
        ("", "(f32[2,3], f32[2,3]) all-to-all(x, x), replica_groups={}", "all-to-all of 2 operands"),
        (", num_partitions=2", "f32[4,3] all-gather(x), replica_groups={}, dimensions={0}", "groups of 2 devices"),
    ],
)
def test_shapes_for_more_devices_than_there_are_are_refused(counts, line, fault):
    text = f"HloModule m{counts}\n" + entry(f"ROOT r = {line}", sizes="2,3")
    with pytest.raises(UnsupportedError, match=f"XP304: .*{fault}.*, and the module has groups of 1"):
        xla2py.emit(text)


CIRCLE = """HloModule circle, replica_count=2
ENTRY main {
  t = token[] after-all()
  r = (f32[3], u32[], token[]) recv(t), channel_id=1
  data = (f32[3], token[]) recv-done(r), channel_id=1
  x = f32[3] get-tuple-element(data), index=0
  s = (f32[3], u32[], token[]) send(x, t), channel_id=1
  ROOT done = token[] send-done(s), channel_id=1
}
"""


def test_a_schedule_in_a_circle_is_refused():
    with pytest.raises(UnsupportedError, match="the transfers wait for each other") as refusal:
        xla2py.emit(CIRCLE)
    (diagnostic,) = refusal.value.diagnostics
    assert diagnostic.code == "XP360"
    assert set(re.findall(r"\w+(?= before|$)", diagnostic.message)) >= {"s", "data", "x"}


def test_a_channel_needs_both_ends():
    text = CIRCLE.replace("send(x, t), channel_id=1", "send(x, t), channel_id=2").replace(
        "send-done(s), channel_id=1", "send-done(s), channel_id=2"
    )
    with pytest.raises(UnsupportedError, match="channel 1 has a recv and no send") as refusal:
        xla2py.emit(text)
    assert refusal.value.diagnostics[0].code == "XP361"


HOST = """ENTRY main {
  x = f32[3] parameter(0)
  t = token[] after-all()
  s = (f32[3], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true
  sent = token[] send-done(s), channel_id=1, is_host_transfer=true
  r = (f32[3], u32[], token[]) recv(sent), channel_id=2, is_host_transfer=true
  data = (f32[3], token[]) recv-done(r), channel_id=2, is_host_transfer=true
  y = f32[3] get-tuple-element(data), index=0
  fed = (f32[3], token[]) infeed(sent), infeed_config="c"
  z = f32[3] get-tuple-element(fed), index=0
  out = token[] outfeed(y, sent)
  ROOT a = f32[3] add(y, z)
}
"""


@pytest.mark.parametrize("replicas", [1, 2])
def test_transfers_with_the_host_are_calls_of_its_functions(replicas):
    log: list = []
    held: dict = {}

    def host(k):
        return {
            "infeed": lambda config: np.float32([k, 0, 0]),
            "outfeed": lambda data: log.append((k, data.tolist())),
            "to_host": lambda channel, data: held.update({k: data}),
            "from_host": lambda channel: held[k] * channel,
        }

    module = SeveralDevices("", HOST, replicas).module()
    emitted = xla2py.emit(module).load()
    given = [x[0] for x in X[:replicas]]
    if replicas == 1:
        results = [emitted.main(*given, **host(0))]
    else:
        feeds = {name: [host(k)[name] for k in range(replicas)] for name in host(0)}
        results = emitted.run_local([[x] for x in given], **feeds)
    np.testing.assert_array_equal(results, [2 * x + [k, 0, 0] for k, x in enumerate(given)])
    assert sorted(log) == [(k, (2 * x).tolist()) for k, x in enumerate(given)]


def test_a_program_without_loops_has_no_snapshots():
    module = xla2py.emit(SeveralDevices("", entry("ROOT r = f32[4,8] negate(x)"), 1, 2).module(), "dask").load()
    with pytest.raises(ValueError, match="no loop of this program can go on from a snapshot"):
        module.PROGRAM.require_loops("folder")
