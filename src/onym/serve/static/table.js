// The table tab: maps a column of a table in several requests, and shows the rows, sortable by confidence.

import { announce, byId, clearError, confidence, fill, make, number, plural, save, showError } from "./dom.js";
import { TableError, parseTable, tableOf, toCsv } from "./csv.js";
import { SheetError, workbook } from "./xlsx.js";
import { parentsLine } from "./details.js";
import { ask } from "./service.js";
import { unlinkedText } from "./words.js";

const MOST_BYTES = 50_000_000;
const PART_TERMS = 200;
const PART_CHARACTERS = 100_000;
const LONGEST_TERM = 1_000; // characters; the limit of the service
const PAGE = 100;
const MOST_CANDIDATES = 5;
const MOST_SHEET_BYTES = 1_400_000; // in base64 a third larger; the service accepts 2 MB
const ADDED = ["concept_id", "preferred_name", "matched_name", "score", "confidence", "nil_reason"];
const HEADS = [
  ["number", "Row"],
  ["term", "Term"],
  ["concept_id", "Concept id"],
  ["preferred_name", "Preferred name"],
  ["matched_name", "Matched synonym"],
  ["confidence", "Confidence"],
];
const NOTHING = Object.fromEntries(ADDED.map((name) => [name, null]));
const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
let base = () => "v1";
let table = null; // { name, columns, rows }
let mapped = null; // { rows, sortedBy, isDescending, page }
let stopping = null;

export function startTable(pipelineBase) {
  base = pipelineBase;
  byId("file").addEventListener("change", () => byId("file").files.length && open(byId("file").files[0]));
  startDrop();
  byId("column").addEventListener("change", showSample);
  byId("map-form").addEventListener("submit", map);
  byId("stop").addEventListener("click", () => stopping?.abort());
  byId("save-csv").addEventListener("click", () => save(outputName("csv"), "text/csv", toCsv(...output())));
  byId("save-xlsx").addEventListener("click", saveXlsx);
  byId("row-threshold").addEventListener("input", refilter);
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
}

// Without this, a file dropped outside the field would replace the page.
function startDrop() {
  const drop = byId("drop");
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => event.preventDefault());
  drop.addEventListener("dragover", () => drop.classList.add("over"));
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    if (event.dataTransfer.files.length) open(event.dataTransfer.files[0]);
  });
}

async function open(file) {
  clearError();
  stopping?.abort();
  table = null;
  byId("table-options").hidden = true;
  byId("mapped").hidden = true;
  try {
    const isSheet = file.name.toLowerCase().endsWith(".xlsx");
    table = { name: file.name, ...(isSheet ? await sheetOf(file) : parseTable(await textOf(file), file.name)) };
    if (!table.rows.length) throw new TableError("The table has a header and no rows.");
  } catch (error) {
    table = null;
    const fix = "The table needs a header, one row per line, and commas, semicolons or tabs between cells.";
    showError(error instanceof TableError ? { what: error.message, fix } : error);
    return;
  }
  byId("table-size").textContent = `${file.name}: ${plural(table.rows.length, "row")}, ${plural(table.columns.length, "column")}`;
  fill(byId("column"), ...table.columns.map((name, at) => make("option", { value: String(at) }, name)));
  byId("column").value = String(likelyColumn());
  byId("table-options").hidden = false;
  showSample();
  announce(`${file.name} was read: ${plural(table.rows.length, "row")}. Choose the column of terms.`);
}

// The service reads workbooks, because browsers cannot.
async function sheetOf(file) {
  if (file.size > MOST_SHEET_BYTES) throw new TableError("The workbook has more than 1.4 MB. Save it as CSV, or use onym map for it.");
  announce(`Reading ${file.name} …`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return tableOf((await ask(`${base()}/workbook`, { content: btoa(binary) })).rows);
}

async function textOf(file) {
  if (file.size > MOST_BYTES) throw new TableError("The file has more than 50 MB. Use onym map for it.");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new TableError("The file is not text in UTF-8. In a spreadsheet program, save it as CSV UTF-8.");
  }
}

// Returns the column with the most distinct cells that contain letters and are not ids.
function likelyColumn() {
  const sample = table.rows.slice(0, 200);
  const isTerm = (cell) => /\p{L}{3}/u.test(cell) && !/^\w+[:_]\w+$/.test(cell);
  const counts = table.columns.map((_, at) => new Set(sample.map((row) => row[at]).filter(isTerm)).size);
  return counts.indexOf(Math.max(...counts));
}

function showSample() {
  const at = Number(byId("column").value);
  const sample = table.rows.map((row) => row[at].trim()).filter(Boolean).slice(0, 4);
  byId("column-sample").textContent = sample.length ? `For example: ${sample.join("; ").slice(0, 200)}` : "This column is empty.";
}

async function map(event) {
  event.preventDefault();
  if (!table) return;
  clearError();
  stopping = new AbortController();
  const [at, from, signal] = [Number(byId("column").value), base(), stopping.signal];
  const terms = [...new Set(table.rows.map((row) => row[at]).filter((term) => term.trim()))];
  const found = new Map();
  if (!terms.length) {
    announce("This column has no terms.");
    return;
  }
  setRunning(true);
  showProgress(0, terms.length);
  announce(`Mapping ${plural(terms.length, "distinct term")} …`);
  try {
    const onWait = (seconds) => announce(`The service is busy. Trying again in ${plural(Math.ceil(seconds), "second")} …`);
    for (const part of parts(terms, found)) {
      const answer = await ask(`${from}/map`, { terms: part, candidates: MOST_CANDIDATES }, { signal, onWait });
      for (const row of answer.rows) found.set(row.term, row);
      showProgress(found.size, terms.length);
    }
    announce(`${plural(terms.length, "distinct term")} mapped.`);
  } catch (error) {
    if (error.name !== "AbortError") showError(error);
    else announce(`Stopped after ${plural(found.size, "term")}.`);
  } finally {
    setRunning(false);
  }
  if (found.size) showRows(at, found);
}

// Yields the terms of one request at a time; terms that are too long are added to `found` without a concept.
function* parts(terms, found) {
  let part = [];
  let size = 0;
  for (const term of terms) {
    if (Array.from(term).length > LONGEST_TERM) {
      found.set(term, { ...NOTHING, nil_reason: "too-long" });
      continue;
    }
    if (part.length === PART_TERMS || size + term.length > PART_CHARACTERS) {
      yield part;
      part = [];
      size = 0;
    }
    part.push(term);
    size += term.length;
  }
  if (part.length) yield part;
}

function setRunning(isRunning) {
  byId("map").disabled = isRunning;
  byId("stop").hidden = !isRunning;
  byId("mapping").hidden = !isRunning;
}

function showProgress(done, all) {
  byId("progress").max = all || 1;
  byId("progress").value = done;
  byId("progress-label").textContent = `${number(done)} of ${plural(all, "distinct term")} mapped`;
}

function showRows(at, found) {
  const rows = table.rows.map((cells, row) => ({ cells, number: row + 1, term: cells[at], ...pick(found.get(cells[at])) }));
  mapped = { rows, shown: rows, sortedBy: "number", isDescending: false, page: 0, columns: table.columns, name: table.name };
  const linked = rows.filter((row) => row.concept_id !== null).length;
  byId("mapped-count").textContent = `${number(linked)} of ${plural(rows.length, "row")} have a concept`;
  byId("mapped").hidden = false;
  resetFilter(rows);
  sort("number", false);
}

function pick(row = NOTHING) {
  return { ...Object.fromEntries(ADDED.map((name) => [name, row[name]])), candidates: row.candidates ?? [] };
}

function resetFilter(rows) {
  const isCalibrated = rows.some((row) => row.confidence !== null);
  byId("row-threshold").value = "0";
  byId("row-threshold").disabled = !isCalibrated;
  byId("row-threshold-note").textContent = isCalibrated
    ? "Above 0, rows with a lower confidence or without a concept are hidden. Downloads contain all rows."
    : "This pipeline is not calibrated: its rows have no confidence.";
}

function refilter() {
  sort(mapped.sortedBy, mapped.isDescending);
  announce(`${plural(mapped.shown.length, "row")} shown.`);
}

function sort(name, isDescending) {
  const order = isDescending ? -1 : 1;
  const least = Number(byId("row-threshold").value);
  byId("row-threshold-value").textContent = least.toFixed(2);
  const rows = mapped.rows.filter((row) => !least || (row.concept_id !== null && row.confidence >= least));
  rows.sort((a, b) => compare(a[name], b[name], order) || a.number - b.number);
  Object.assign(mapped, { shown: rows, sortedBy: name, isDescending, page: 0 });
  fill(byId("row-heads"), ...HEADS.map(head));
  showPage();
}

// Compares numbers or strings; null sorts last in both directions.
function compare(a, b, order) {
  if (a === null || b === null) return (a === null) - (b === null);
  return order * (typeof a === "number" ? a - b : a.localeCompare(b));
}

function head([name, title]) {
  const isSorted = mapped.sortedBy === name;
  const arrow = isSorted ? (mapped.isDescending ? "▼" : "▲") : "↕";
  const button = make("button", { type: "button", class: "sort" }, title, " ", make("span", { "aria-hidden": "true" }, arrow));
  button.addEventListener("click", () => {
    const isDescending = isSorted ? !mapped.isDescending : name === "confidence";
    sort(name, isDescending);
    byId("row-heads").children[HEADS.findIndex((each) => each[0] === name)].firstChild.focus();
    announce(`Sorted by ${title.toLowerCase()}, ${isDescending ? "descending" : "ascending"}.`);
  });
  const state = isSorted ? (mapped.isDescending ? "descending" : "ascending") : "none";
  return make("th", { scope: "col", "aria-sort": state }, button);
}

function showPage() {
  const pages = Math.max(1, Math.ceil(mapped.shown.length / PAGE));
  const rows = mapped.shown.slice(mapped.page * PAGE, (mapped.page + 1) * PAGE);
  fill(byId("rows").tBodies[0], ...rows.map(bodyRow));
  byId("page-number").textContent = `Page ${mapped.page + 1} of ${pages}`;
  byId("pages").hidden = pages === 1;
  byId("previous").disabled = mapped.page === 0;
  byId("next").disabled = mapped.page + 1 >= pages;
}

function bodyRow(row) {
  const isLinked = row.concept_id !== null;
  const isEmpty = !row.term.trim();
  const why = isEmpty ? "" : row.nil_reason ? `unlinked: ${unlinkedText(row.nil_reason)}` : "not mapped";
  return make(
    "tr", {},
    make("td", { class: "number" }, row.candidates.length ? expander(row) : "", row.number),
    make("th", { scope: "row" }, isEmpty ? make("span", { class: "quiet" }, "empty") : row.term),
    make("td", {}, isLinked ? make("code", {}, row.concept_id) : make("span", { class: "quiet" }, why)),
    make("td", {}, row.preferred_name),
    make("td", {}, row.matched_name),
    make("td", {}, isLinked ? confidence(row.confidence) : ""),
  );
}

// A button that shows the candidates of a row below it.
function expander(row) {
  const id = `candidates-${row.number}`;
  const label = `Candidates of row ${row.number}`;
  const button = make("button", { type: "button", class: "expand", "aria-expanded": "false", "aria-label": label }, "▸");
  button.addEventListener("click", () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    if (isOpen) byId(id).remove();
    else button.closest("tr").after(candidatesRow(row, id));
    button.setAttribute("aria-expanded", String(!isOpen));
    button.textContent = isOpen ? "▸" : "▾";
  });
  return button;
}

function candidatesRow(row, id) {
  const items = row.candidates.map((each) =>
    make("li", {}, make("code", {}, each.concept_id), ` ${each.preferred_name}`, make("span", { class: "quiet" }, ` “${each.matched_name}”, score ${each.score.toFixed(2)}`), parentsLine(each.parents)),
  );
  const list = make("ol", { class: "candidates", "aria-label": `Candidates of row ${row.number}, best first` }, ...items);
  return make("tr", { id, class: "expanded" }, make("td", { colSpan: HEADS.length }, list));
}

function turn(step) {
  mapped.page += step;
  showPage();
}

const outputName = (ending) => `${mapped.name.replace(/\.\w+$/, "")}.mapped.${ending}`;

// Returns the columns and rows of a download: the table in its original order, with the added columns.
function output() {
  const columns = [];
  for (const name of [...mapped.columns, ...ADDED]) {
    let [unique, count] = [name, 1];
    while (columns.includes(unique)) unique = `${name}_${(count += 1)}`;
    columns.push(unique);
  }
  return [columns, mapped.rows.map((row) => [...row.cells, ...ADDED.map((name) => row[name])])];
}

function saveXlsx() {
  try {
    save(outputName("xlsx"), XLSX, ...workbook(...output()));
  } catch (error) {
    if (!(error instanceof SheetError)) throw error;
    showError({ what: error.message });
  }
}
