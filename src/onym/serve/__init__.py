"""HTTP service: link texts, map terms and look up concepts.

Invariants: the HTTP process only parses JSON; linkers run in separate processes; a request that cannot be answered in time is
rejected at once; and logs, errors and metrics never contain text of a request.
"""
