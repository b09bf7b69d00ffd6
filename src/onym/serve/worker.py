"""A process that opens a pipeline and answers jobs: `python -m onym.serve.worker`.

Lines of JSON come in by standard input: first what to open, then lists of jobs. By standard output goes a line that says
`ready`, or `error`, and then for each job a line with its status and size, followed by so many bytes of JSON, which the HTTP
process hands on as they are. When standard input ends, the process ends.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

from onym.errors import is_failure, to_onym_error
from onym.workers import error_reply, iter_commands, leave, own_stdout, say


def main() -> int:
    """Run until standard input ends."""
    replies = own_stdout()
    commands = iter_commands(sys.stdin.buffer)
    first = next(commands)
    try:
        from onym.serve.answers import JobRunner

        answers = JobRunner.open(first["pipeline"], first.get("precision"))
    except BaseException as e:
        if not is_failure(e):
            raise
        error = to_onym_error(e, caught_in=__file__)
        say(replies, error_reply(error))
        return error.exit_status
    say(replies, {"ready": True, **answers.release})
    for command in commands:
        for status, body in answers.of(command["jobs"]):
            reply(replies, status, body)
    return 0


def reply(replies: BinaryIO, status: int, body: bytes) -> None:
    """Write an answer with its size.

    >>> import io
    >>> replies = io.BytesIO()
    >>> reply(replies, 200, b"{}")
    >>> replies.getvalue()
    b'200 2\\n{}'
    """
    data = memoryview(b"%d %d\n%b" % (status, len(body), body))
    while data:  # a pipe without a buffer may take a part
        data = data[replies.write(data) or 0 :]


if __name__ == "__main__":
    leave(main())
