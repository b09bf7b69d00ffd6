"""The files of the page: complete, small, and without anything from elsewhere."""

from __future__ import annotations

import re

import pytest

from onym.serve.page_files import PAGE_FILES, POLICY

SCRIPTS = {path: file.content.decode() for path, file in PAGE_FILES.items() if path.endswith(".js")}
HTML = PAGE_FILES["/"].content.decode()
DANGEROUS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "new Function", "srcdoc")


def test_the_policy_allows_nothing_but_its_own_files() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert not re.search(r"unsafe|\*|http|data:|blob:", POLICY)


def test_all_files_that_are_referred_to_are_there() -> None:
    named = re.findall(r'(?:src|href)="(page/[^"]+)"', HTML)
    imported = [f"page/{name}" for text in SCRIPTS.values() for name in re.findall(r'from "\./([^"]+)"', text)]
    assert named
    assert imported
    assert {f"/{name}" for name in named + imported} == set(PAGE_FILES) - {"/"}


def test_the_html_has_no_script_style_or_handler_of_its_own() -> None:
    assert not re.search(r"<style|style=|\son\w+=|javascript:", HTML)
    assert re.findall(r"<script([^>]*)>([^<]*)<", HTML) == [(' type="module" src="page/page.js"', "")]


def test_addresses_are_relative() -> None:
    for path, file in PAGE_FILES.items():
        addresses = re.findall(rb"(?:https?:)?//[a-z0-9.-]+\.[a-z]+[^\s\"'`]*", file.content)
        assert all(address.startswith((b"http://schemas.", b"http://www.w3.org/")) for address in addresses), path


@pytest.mark.parametrize("path", SCRIPTS)
def test_scripts_make_no_html_of_text(path: str) -> None:
    assert [word for word in DANGEROUS if word in SCRIPTS[path]] == []


def test_all_is_small() -> None:
    assert sum(len(file.content) for file in PAGE_FILES.values()) < 100_000
