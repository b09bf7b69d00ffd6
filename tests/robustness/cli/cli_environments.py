"""Run the command line in unusual environments, and check that no user ever sees a traceback.

cases       runs of the installed `onym`: without a home directory, as an unknown user, in read-only folders, in legacy
            encodings, with standard streams closed, full or unread, on terminals with one column, with few file descriptors,
            little memory and no temp directory, stopped by signals, with devices, pipes, links or folders as output, and with
            arguments that are many, long, empty or not UTF-8
tracebacks  runs that printed a Python traceback or a Rust panic, ended with an undocumented exit status or the exit status of
            an internal error, or damaged existing files; they are named on stderr
"""

from __future__ import annotations

import argparse
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from onym.kb.build import build_kb
from onym.kb.recipe import Recipe
from onym.pipeline.folder import build_pipeline


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="report each case on stderr")
    parser.add_argument("--at-once", type=int, default=2, help="number of parallel processes")
    parser.add_argument("--only", default="", help="run only cases whose name contains this")


def run(options: argparse.Namespace) -> dict[str, object]:
    """Run all cases; with `--quick`, some of each kind."""
    only, has_unknown = getattr(options, "only", ""), can_be_unknown()
    cases = [case for case in iter_cases() if only in case.name and (case.is_quick or not options.quick)]
    found = []
    for outcome in outcomes(
        [case for case in cases if has_unknown or not case.is_unknown_user], getattr(options, "at_once", 2)
    ):
        found.append(outcome)
        if outcome.is_traceback or getattr(options, "verbose", False):
            print(_describe_outcome(outcome), file=sys.stderr)
    figures = {"cases": len(found), "tracebacks": sum(outcome.is_traceback for outcome in found)}
    if figures["tracebacks"]:
        sys.exit(f"some runs showed a traceback: {figures}")
    return dict(figures)


def outcomes(cases: list[Case], at_once: int = 2) -> Iterator[Outcome]:
    """Run each case in its own world-writable folder."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(at_once) as pool:
        root = Path(name)
        root.chmod(0o755)
        base = root / "base"
        base.mkdir()
        make_base(base)
        yield from pool.map(lambda pair: _run_in(root / str(pair[0]), _at(base, pair[1])), enumerate(cases))


def _run_in(folder: Path, case: Case) -> Outcome:
    folder.mkdir()
    folder.chmod(0o777)
    temporary = folder.with_name(f"{folder.name}.tmp")
    temporary.mkdir()
    temporary.chmod(0o777)
    env = {"ONYM_CACHE": str(folder.parent / "cache"), "TMPDIR": str(temporary), **case.env}
    return run_case(replace(case, env=env), folder)


def _at(base: Path, case: Case) -> Case:
    words = tuple(word.replace("{base}", str(base)) if isinstance(word, str) else word for word in case.words)
    return replace(case, words=words, before=case.before.replace("{base}", str(base)))


def _describe_outcome(outcome: Outcome) -> str:
    mark = "FAILED" if outcome.is_traceback else "ok"
    return f"{mark:6} {outcome.status:4}  {outcome.case.name}: {outcome.output[-300:]!r}"


# A case: one command in one environment. It runs the installed `onym` as a process.

ONYM = str(Path(sys.executable).with_name("onym"))
DOCUMENTED = frozenset({0, 2, 3, 4, 5, 6, 129, 130, 141, 143})
"""The exit statuses of docs/reference/cli.md, except 1, which means a bug."""
_AS_UNKNOWN = (
    *("setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"),
    # The unknown user must be able to read Python, which may be installed in another user's home.
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
_SIGNS = (b"Traceback", b"panicked at", b"Exception ignored", b"Fatal Python error")
_PATIENCE_S = 600  # timeout in seconds; long, because the machine may be busy, but a command that hangs is still detected


@dataclass(frozen=True)
class Case:
    """A command and its environment. `before` and `streams` are shell code placed before and after the command."""

    name: str
    words: tuple[str | bytes, ...]
    env: Mapping[str, str | None] = field(default_factory=dict)
    before: str = ""
    streams: str = ""
    columns: int = 0  # columns of the terminal; 0 if there is no terminal
    is_unknown_user: bool = False
    stop: signal.Signals | None = None  # signal that is sent while the output is being written
    statuses: frozenset[int] = DOCUMENTED
    check: Callable[[Path], bool] = lambda _: True  # called after the run: returns whether the folder has the expected content
    is_quick: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case."""

    case: Case
    status: int
    output: bytes
    is_right: bool

    @property
    def is_traceback(self) -> bool:
        """Whether the user would see a traceback, an undocumented exit status, or damaged files."""
        return any(sign in self.output for sign in _SIGNS) or self.status not in self.case.statuses or not self.is_right


def run_case(case: Case, folder: Path) -> Outcome:
    """Run a case in its own folder."""
    start = f'"$@" {case.streams}' if "|" in case.streams else f'exec "$@" {case.streams}'
    unknown = _AS_UNKNOWN if case.is_unknown_user else ()
    command = ["bash", "-c", f"{case.before}\n{start}", "bash", *unknown, ONYM, *case.words]
    env = {name: value for name, value in {**os.environ, **case.env}.items() if value is not None}
    status, output = (_on_terminal if case.columns else _in_pipes)(case, command, {"cwd": folder, "env": env})
    return Outcome(case, status, output, case.check(folder))


def can_be_unknown() -> bool:
    """Return whether a process can run as a user id without an account."""
    try:
        return not subprocess.run([*_AS_UNKNOWN, sys.executable, "-c", ""], check=False, capture_output=True).returncode
    except OSError:
        return False


def _in_pipes(case: Case, command: list[str | bytes], more: dict[str, object]) -> tuple[int, bytes]:
    stdin = subprocess.PIPE if case.stop else subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)  # type: ignore[call-overload]
    if case.stop:
        _wait_for_hidden(Path(str(more["cwd"])))
        process.send_signal(case.stop)
    return _wait_for_end(process)


def _wait_for_end(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    try:
        output, _ = process.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return -1, output
    return process.returncode, output


def _wait_for_hidden(folder: Path) -> None:
    for _ in range(_PATIENCE_S * 50):
        if list(folder.glob(".*.onym-new")):
            return
        time.sleep(0.02)


def _on_terminal(case: Case, command: list[str | bytes], more: dict[str, object]) -> tuple[int, bytes]:
    """Run on a terminal with `columns` columns; join the output lines, because the terminal wraps words."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, case.columns, 0, 0))
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, **more)  # type: ignore[call-overload]
    os.close(theirs)
    output = b""
    try:
        while data := os.read(ours, 65536):
            output += data
    except OSError:  # the command has closed the terminal
        pass
    os.close(ours)
    process.wait(_PATIENCE_S)
    return process.returncode, output.replace(b"\r", b"").replace(b"\n", b"")


# The cases: all environments and commands. Not tested: a directory as stdin, on which Python fails before Onym starts.

_VERSION = ("--version",)
_INFO = ("kb", "info", "{base}/kb")
_EXPORT = ("kb", "export", "{base}/kb", "-o", "-")
_LINK = ("link", "{base}/a.txt", "--pipeline", "{base}/pipeline", "-o", "out.jsonl", "--force")
_STDIN = ("link", "-", "--pipeline", "{base}/pipeline", "-o", "out.jsonl")
# Takes seconds, so that it can be stopped while it writes.
_MANY = ("link", "{base}/many.jsonl", "--pipeline", "{base}/pipeline", "-o", "out.jsonl")
_CONVERT = ("corpus", "convert", "{base}/a.txt", "out", "--to", "text")
_BUILD = ("kb", "build", "{base}/kb.tsv", "-o", "kb")
_MAP = ("map", "{base}/terms.csv", "--column", "term", "--kb", "{base}/kb", "--linker", "exact", "-o", "-")
_LOW = DOCUMENTED | {1}  # also accepts 1, the exit status of a C library that runs out of memory


def make_base(folder: Path) -> None:
    """Write the inputs of the commands: a small knowledge base, a pipeline, a text and a table."""
    rows = ["id\tname\tsynonyms", "mesh:D005334\tFever\tpyrexia|β-fever", "mesh:D009203\tMyocardial Infarction\theart attack"]
    (folder / "kb.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    (folder / "a.txt").write_text("High β-fever, no heart attack.", "utf-8")
    (folder / "terms.csv").write_text("term\nfever\nβ-fever\n", "utf-8")
    build_kb(Recipe.of({"sources": [{"path": "kb.tsv"}]}), folder / "kb", root=folder)
    build_pipeline(folder / "kb", folder / "pipeline")
    (folder / "many.jsonl").write_text("".join(f'{{"id":"{number}","text":"High fever."}}\n' for number in range(30_000)))


def iter_cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _environments()
    yield from _streams()
    yield from _terminals()
    yield from _limits()
    yield from _signals()
    yield from _outputs()
    yield from _words()


def _environments() -> Iterator[Case]:
    bare = {"ONYM_CACHE": None, "XDG_CACHE_HOME": None}
    legacy = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    homes: dict[str, dict[str, str | None]] = {
        "no HOME": {**bare, "HOME": None},
        "a HOME that is not there": {**bare, "HOME": "/proc/nonexistent"},
        "a cache below a device": {"ONYM_CACHE": "/dev/null/cache"},
        "no TMPDIR": {"TMPDIR": "/proc/nonexistent"},
    }
    for (name, env), words in product(homes.items(), (_INFO, _LINK)):
        yield Case(f"{name}: {_name_case(words)}", words, env=env, is_quick=(name, words) == ("no HOME", _INFO))
    for name, env in homes.items():
        yield Case(f"unknown user, {name}", _LINK, env=env, is_unknown_user=True)
    yield Case("unknown user", _INFO, env=homes["no HOME"], is_unknown_user=True, is_quick=True)
    for words in (_LINK, _BUILD):
        before = "mkdir own; chmod 555 . own 2>/dev/null; cd own"
        yield Case(f"read-only folder: {_name_case(words)}", words, before=before, is_unknown_user=True)
    locales: dict[str, dict[str, str | None]] = {
        "C locale": {"LC_ALL": "C"},
        "POSIX locale, not coerced": {**legacy},
        "LANG of a legacy encoding": {"LANG": "de_DE.ISO-8859-1", "LC_ALL": "de_DE.ISO-8859-1", "PYTHONUTF8": "0"},
        "latin-1 streams": {"PYTHONIOENCODING": "latin-1"},
        "ascii streams": {"PYTHONIOENCODING": "ascii"},
    }
    for (name, env), words in product(locales.items(), (_EXPORT, (*_INFO, "--json"))):
        yield Case(f"{name}: {_name_case(words)}", words, env=env, is_quick=name == "ascii streams" and "--json" in words)
    for name, value in (("TERM", "dumb"), ("TERM", None), ("TERM", "absent"), ("NO_COLOR", "1"), ("FORCE_COLOR", "1")):
        yield Case(f"{name}={value}: kb info", _INFO, env={name: value})
    yield Case("a folder that is gone", _INFO, before="mkdir gone; cd gone; rmdir ../gone")
    yield Case("a folder that is gone, written", _LINK, before="mkdir gone; cd gone; rmdir ../gone")


def _streams() -> Iterator[Case]:
    closed = ["<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"]
    for streams, words in product(closed, (_INFO, _LINK)):
        is_quick = streams == "<&- >&- 2>&-" and words == _INFO
        yield Case(f"closed {streams}: {_name_case(words)}", words, streams=streams, is_quick=is_quick)
    yield Case("stdin closed and asked for", _STDIN, streams="<&-", is_quick=True)
    for words in (_VERSION, ("--help",), _INFO, _EXPORT, _MAP):
        yield Case(f"full stdout: {_name_case(words)}", words, streams=">/dev/full", is_quick=words == _INFO)
        yield Case(
            f"nobody reads: {_name_case(words)}", words, streams="| true; exit ${PIPESTATUS[0]}", is_quick=words == _VERSION
        )
    for words in (("kb", "info", "absent"), ("kb", "download", "umls")):
        yield Case(f"full stderr: {_name_case(words)}", words, streams="2>/dev/full")
        yield Case(f"nobody reads stderr: {_name_case(words)}", words, streams="2> >(true)")


def _terminals() -> Iterator[Case]:
    for columns, words in product((1, 2, 5, 20), (_INFO, ("kb", "info", "absent"), ("--help",))):
        env = {"COLUMNS": str(columns), "TERM": "xterm"}
        yield Case(
            f"{columns} columns: {_name_case(words)}", words, env=env, columns=columns, is_quick=(columns, words) == (1, _INFO)
        )
    yield Case("a dumb terminal", _LINK, env={"TERM": "dumb"}, columns=80)


def _limits() -> Iterator[Case]:
    for number, words in product((5, 12, 20, 40), (_INFO, _LINK)):
        is_quick = (number, words) == (20, _INFO)
        yield Case(f"{number} open files: {_name_case(words)}", words, before=f"ulimit -n {number}", is_quick=is_quick)
    for blocks, words in product((0, 1), (_LINK, _BUILD)):
        yield Case(f"files of {blocks} KB: {_name_case(words)}", words, before=f"ulimit -f {blocks}")
    for megabytes, words in product((60, 250, 4000), (_INFO, _LINK)):
        yield Case(f"{megabytes} MB: {_name_case(words)}", words, before=f"ulimit -v {megabytes * 1000}", statuses=_LOW)


def _signals() -> Iterator[Case]:
    for stop in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        statuses = frozenset({128 + stop})
        yield Case(stop.name, _MANY, stop=stop, statuses=statuses, check=_is_empty, is_quick=stop == signal.SIGTERM)
    yield Case("SIGKILL", _MANY, stop=signal.SIGKILL, statuses=frozenset({-signal.SIGKILL}))
    left = ".out.jsonl.0123456789abcdef.onym-new"
    yield Case("what SIGKILL left", _LINK, before=f"touch {left}", check=lambda folder: not (folder / left).exists())
    yield Case("SIGPIPE is ignored", _LINK, before="trap '' PIPE")
    yield Case("SIGHUP is ignored", _LINK, before="trap '' HUP")


def _outputs() -> Iterator[Case]:
    makers = {
        "a pipe": ("mkfifo {}", stat.S_ISFIFO),
        "a link": ("ln -s nowhere {}", stat.S_ISLNK),
        "a folder": ("mkdir {}; touch {}/thesis.doc", stat.S_ISDIR),
        "a file": ("touch {}", stat.S_ISREG),
    }
    commands = {
        "out.jsonl": _LINK,
        "out": (*_CONVERT, "--force"),
        "out.tsv": (*_MAP[:-1], "out.tsv", "--force"),
        "kb": _BUILD,
    }
    for (name, (make, is_kind)), (path, words) in product(makers.items(), commands.items()):
        is_quick = name == "a pipe" and path == "kb"
        before, kept = make.replace("{}", path), _keeps(path, is_kind)
        yield Case(f"{name} at the output: {_name_case(words)}", words, before=before, check=kept, is_quick=is_quick)
    devices = ("/dev/null", "/dev/full", "/dev/stdout", "/proc/self/mem", "/proc/new", "/", ".", "..", "")
    for path in (*devices, "x" * 300):
        words = ("link", "{base}/a.txt", "--pipeline", "{base}/pipeline", "-o", path)
        yield Case(f"the output {path[:20]!r}", words, statuses=frozenset({2}))


def _words() -> Iterator[Case]:
    yield Case("no words", (), is_quick=True)
    yield Case("an empty word", ("",))
    yield Case("words that are not there", ("no", "such", "command"))
    yield Case("a long word", ("kb", "info", "x" * 100_000))
    yield Case("many words", ("link", *(f"{n}.txt" for n in range(20_000)), "--pipeline", "{base}/pipeline", "-o", "out.jsonl"))
    yield Case("a number out of range", ("kb", "search", "{base}/kb", "fever", "--limit", "9" * 400))
    yield Case("letters of a terminal", ("kb", "search", "{base}/kb", "\x1b[31mfever\x07"))
    for words in ((*_INFO[:2], b"\xff\xfe"), (*_LINK[:4], "-o", b"\xff.jsonl")):
        yield Case(f"a name that is no UTF-8: {_name_case(words)}", words, is_quick=words[0] == "kb")
    yield Case("a source that is no UTF-8", ("link", b"\xff.txt", *_LINK[2:]), before="cp {base}/a.txt $'\\xff.txt'")
    for end in (("-o", "out.jsonl"), ("-o", "out", "--format", "brat"), ("-o", "out.jsonl", "--format", "jsonl", "--json")):
        words = ("link", "in", "--pipeline", "{base}/pipeline", *end)
        before = "mkdir in; cp {base}/a.txt in/$'\\xff.txt'"
        yield Case(f"a folder with names that are no UTF-8: {' '.join(end)}", words, before=before)
    yield Case("an answer with a name that is no UTF-8", (*_BUILD[:-1], b"kb\xff", "--json"))


def _name_case(words: tuple[str | bytes, ...]) -> str:
    return " ".join(str(word) for word in words[:3]).replace("{base}/", "")


def _is_empty(folder: Path) -> bool:
    return not list(folder.iterdir())


def _keeps(path: str, is_kind: Callable[[int], bool]) -> Callable[[Path], bool]:
    return lambda folder: is_kind((folder / path).lstat().st_mode)
