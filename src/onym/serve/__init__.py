"""Onym as a service: link texts, map terms and look concepts up over HTTP.

Always true here: the HTTP process parses no text besides JSON, linkers live in processes of their own, what cannot be answered
in time is refused at once, and no text of a request reaches a log, an error or a metric.
"""
