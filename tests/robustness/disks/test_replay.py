"""Tests of the possible disk contents after a power cut: only synced data is certain to survive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.robustness.disks.faults import _harm
from tests.robustness.disks.replay import Tree, Write, digest_of, iter_states, read_record, write_tree
from tests.robustness.disks.writers import UNFINISHED, Outcome


def write(call: str, path: str, second: str = "", data: bytes = b"") -> Write:
    return Write(call, path, second, 0, data)


PUBLISHED = [
    write("create", "out/.hidden"),
    write("write", "out/.hidden", data=b"new!"),
    write("sync", "out/.hidden"),
    write("rename", "out/.hidden", "out/file"),
    write("sync", "out"),
]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base" / "out").mkdir(parents=True)
    (tmp_path / "base" / "out" / "file").write_bytes(b"old")
    return tmp_path / "base"


def find_states(base: Path, writes: list[Write]) -> dict[tuple[int, str], Tree]:
    return {(number, policy): tree for number, policy, tree in iter_states(base, writes)}


def test_file_synced_before_rename_is_old_or_new(base: Path) -> None:
    states = find_states(base, PUBLISHED)
    assert {tree["out/file"] for tree in states.values()} == {b"old", b"new!"}
    assert states[4, "dropped"] == {"out": None, "out/file": b"old"}
    assert states[5, "dropped"] == {"out": None, "out/file": b"new!"}


def test_file_renamed_before_sync_may_be_truncated_or_empty(base: Path) -> None:
    states = find_states(base, [each for each in PUBLISHED if (each.call, each.path) != ("sync", "out/.hidden")])
    assert states[4, "torn"]["out/file"] == b"ne\0\0"
    assert states[4, "emptied"]["out/file"] == states[4, "dropped"]["out/file"] == b""
    assert states[4, "kept"]["out/file"] == b"new!"


def test_folder_without_sync_may_be_empty(base: Path) -> None:
    writes = [write("mkdir", "new"), write("create", "new/a"), write("sync", "new/a"), write("sync", "")]
    states = find_states(base, writes)
    assert "new/a" not in states[4, "dropped"]
    assert "new" in states[4, "dropped"]
    assert "new/a" in states[4, "torn"]


def test_removed_file_may_reappear_until_folder_is_synced(base: Path) -> None:
    states = find_states(base, [write("unlink", "out/file"), write("rmdir", "out"), write("sync", "")])
    assert states[2, "dropped"]["out/file"] == b"old"
    assert "out" not in states[3, "dropped"]


def test_reads_record_and_writes_tree(tmp_path: Path) -> None:
    (tmp_path / "record").write_bytes(b"write\t/w/a/b\t\t2\t3\nx\ny" + b"rename\t/w/a\t/w/c\t0\t0\n")
    assert read_record(tmp_path / "record", Path("/w")) == [
        Write("write", "a/b", "", 2, b"x\ny"),
        Write("rename", "a", "c", 0, b""),
    ]
    tree: Tree = {"a": None, "a/b": b"x"}
    write_tree(tree, tmp_path / "state")
    assert (tmp_path / "state" / "a" / "b").read_bytes() == b"x"
    assert digest_of(tree) != digest_of({"a": None, "a/b": b"y"}) != digest_of({"a": None})


def test_infers_rename_of_file_opened_under_another_name(tmp_path: Path) -> None:
    calls = ("create\t/w/s/.tmp\t\t7", "rename\t/w/s\t/w/a\t0", "open\t/w/a/.tmp\t\t7", "open\t/w/a/b\t\t7")
    again = ("unlink\t/w/a/b\t\t0", "create\t/w/c\t\t7", "open\t/w/c\t\t7", "open\t/w/old\t\t8")
    (tmp_path / "record").write_text("".join(f"{call}\t0\n" for call in calls + again))
    assert [(each.call, each.path, each.second) for each in read_record(tmp_path / "record", Path("/w"))] == [
        ("create", "s/.tmp", ""),
        ("rename", "s", "a"),
        ("rename", "a/.tmp", "a/b"),
        ("unlink", "a/b", ""),
        ("create", "c", ""),
    ]


@pytest.mark.parametrize(
    ("outcome", "harm"),
    [
        (Outcome(0, "", "new"), ""),
        (Outcome(0, "", "old"), "lost"),
        (Outcome(0, "", "torn"), "torn"),
        (Outcome(2, "[output-failed] cannot be written", "old"), ""),
        (Outcome(2, "[output-failed] cannot be written", f"old{UNFINISHED}"), ""),
        (Outcome(2, "[output-failed] cannot be written", f"other{UNFINISHED}"), "torn"),
        (Outcome(0, "", f"new{UNFINISHED}"), "lost"),
        (Outcome(2, "[output-failed] cannot be written", "absent"), "lost"),
        (Outcome(4, "[artefact-corrupt] a file was changed", "other"), "torn"),
        (Outcome(5, "problems: 1, in links.jsonl.problems.jsonl", "accounted"), ""),
        (Outcome(5, "problems: 1, in links.jsonl.problems.jsonl", "empty"), "torn"),
        (Outcome(5, "problems: 1, in links.jsonl.problems.jsonl", "new"), ""),
        (Outcome(5, "input-unreadable: : the file cannot be read", "accounted"), ""),
        (Outcome(5, "input-unreadable: : the file cannot be read", "old"), "unhandled"),
        (Outcome(5, "", "accounted"), "torn"),
        (Outcome(1, "Traceback", "old"), "unhandled"),
        (Outcome(3, "no code", "new"), "unhandled"),
        (Outcome(-9, "", "old"), "unhandled"),
    ],
)
def test_classifies_outcomes_of_faults(outcome: Outcome, harm: str) -> None:
    assert _harm(outcome, "old", "new") == harm
