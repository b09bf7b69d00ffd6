"""The style sheet of the page: system type, figures of one width, a light and a dark scheme with enough contrast in both."""

from __future__ import annotations

STYLE = """
:root {
  --type: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
  --page: #ffffff; --ink: #1c2329; --muted: #586470; --line: #dfe4e8; --soft: #f4f6f8;
  --bar: #8fb8ca; --strong: #1f6b87; --wrong: #b3501f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181c; --ink: #e4e9ed; --muted: #9ba8b3; --line: #303941; --soft: #1c2227;
    --bar: #3f7288; --strong: #7cc3de; --wrong: #e8976a;
  }
}
* { box-sizing: border-box; }
html { background: var(--page); color: var(--ink); font: 16px/1.55 var(--type); font-variant-numeric: tabular-nums; }
body { margin: 0; }
main { max-width: 61rem; margin: 0 auto; padding: 3rem 1.5rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; font-weight: 650; letter-spacing: -0.01em; margin: 0 0 1.25rem; }
h1, dd { overflow-wrap: anywhere; }
h1 .on { color: var(--muted); font-weight: 400; }
h2 { font-size: 1.2rem; font-weight: 650; margin: 3rem 0 0.75rem; }
p { margin: 0 0 1rem; max-width: 46rem; }
.note, .ids, .none { color: var(--muted); font-size: 0.875rem; }
p.note { margin-top: 0.6rem; }
ul.note { margin: -0.5rem 0 1rem; padding-left: 1.25rem; }
code { font: 0.875em ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; overflow-wrap: anywhere; }
dl.facts { display: flex; flex-wrap: wrap; gap: 0.5rem 2.5rem; margin: 0 0 1.75rem; }
dl.facts dt { color: var(--muted); font-size: 0.8125rem; }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: 0.75rem; }
.tile { background: var(--soft); border-radius: 0.6rem; padding: 0.9rem 1.1rem 0.8rem; }
.tile .name { color: var(--muted); font-size: 0.875rem; }
.tile .figure { font-size: 2rem; line-height: 1.25; font-weight: 600; letter-spacing: -0.01em; }
.tile .unit { font-size: 1.1rem; font-weight: 400; color: var(--muted); margin-left: 0.15rem; }
.tile:first-child .figure { color: var(--strong); }
.scrolled { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9375rem; line-height: 1.4; }
table.narrow { width: auto; min-width: 24rem; }
th, td { text-align: left; vertical-align: top; padding: 0.45rem 1.1rem 0.45rem 0; font-weight: 400; }
th:last-child, td:last-child { padding-right: 0.6rem; }
thead th { color: var(--muted); font-size: 0.8125rem; white-space: nowrap; vertical-align: bottom; }
thead tr:last-child > * { border-bottom: 1px solid var(--line); }
th.group { text-align: center; padding-bottom: 0; border-bottom: 1px solid var(--line); }
th.group + th.group { border-left: 1rem solid transparent; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; }
tr.main > * { background: var(--soft); font-weight: 600; }
tr.main .ids { font-weight: 400; }
tr > *:first-child { padding-left: 0.6rem; }
.mark { font-size: 0.75rem; font-weight: 400; color: var(--strong); margin-left: 0.35rem; }
td.words { color: var(--muted); min-width: 16rem; }
table.mistakes { table-layout: fixed; min-width: 54rem; font-size: 0.9rem; }
table.mistakes td, table.mistakes th { overflow-wrap: anywhere; }
table.mistakes thead th:first-child { width: 3.5rem; }
table.mistakes thead th:last-child { width: 6.5rem; white-space: normal; }
table.mistakes tbody th { font-weight: 600; }
table.errors { table-layout: fixed; min-width: 36rem; font-size: 0.9rem; }
table.errors td, table.errors th { overflow-wrap: anywhere; }
table.errors thead th:first-child { width: 3.5rem; }
table.errors tbody th { font-weight: 600; }
table.examples { table-layout: fixed; min-width: 54rem; font-size: 0.9rem; }
table.examples td, table.examples th { overflow-wrap: anywhere; }
table.examples thead th { width: 18%; }
table.examples thead th:nth-child(3) { width: 6.5rem; }
table.examples thead th:last-child { width: auto; }
table.examples tbody th { font-weight: 600; }
.verdict { font-size: 0.8125rem; font-weight: 400; color: var(--strong); }
.verdict.wrong { color: var(--wrong); }
ol.near { margin: 0; padding-left: 1.75rem; }
ol.near li::marker { color: var(--muted); }
ol.near li.gold { font-weight: 600; }
ol.near .pair { display: flex; justify-content: space-between; gap: 1rem; }
ol.near .ids, ol.near .mark { font-weight: 400; }
table.manifest th { white-space: nowrap; color: var(--muted); }
figure { margin: 0.5rem 0 1rem; }
figure svg { display: block; width: 100%; min-width: 44rem; height: auto; }
details { margin-top: 0.75rem; }
summary { cursor: pointer; color: var(--strong); font-size: 0.9375rem; margin-bottom: 0.5rem; }
:focus-visible { outline: 2px solid var(--strong); outline-offset: 2px; }
@media print { main { max-width: none; padding: 0; } section { break-inside: avoid-page; } }
"""
