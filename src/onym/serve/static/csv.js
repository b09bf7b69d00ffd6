// Reads .csv and .tsv, and writes .csv with formulas escaped.

const DELIMITERS = [",", ";", "\t"];
const SAMPLE = 20;
const FORMULA = /^[=+\-@\t\r']/;

export class TableError extends Error {}

// Returns { columns, rows }; rows are as long as the header.
export function parseTable(text, name = "") {
  return tableOf(parseRows(text, delimiterOf(text, name)));
}

// Returns { columns, rows } for rows that begin with the header.
export function tableOf([header, ...rows]) {
  if (!header) throw new TableError("The table is empty.");
  rows.forEach((row, at) => {
    if (row.length > header.length) throw new TableError(`Row ${at + 1} has more cells than the header.`);
    while (row.length < header.length) row.push("");
  });
  return { columns: header.map((cell, at) => cell.trim() || `column ${at + 1}`), rows };
}

export function toCsv(columns, rows) {
  return [columns, ...rows].map((row) => `${row.map(cellText).join(",")}\n`).join("");
}

function cellText(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Returns the delimiter for which the first rows are as long as the header; of several, the one with the most columns.
function delimiterOf(text, name) {
  if (name.toLowerCase().endsWith(".tsv")) return "\t";
  const merits = DELIMITERS.map((delimiter) => {
    const [header, ...rows] = sampleRows(text, delimiter);
    const width = header?.length ?? 0;
    return width > 1 && rows.every((row) => row.length === width) ? 1_000_000 + width : width;
  });
  return DELIMITERS[merits.indexOf(Math.max(...merits))];
}

function sampleRows(text, delimiter) {
  try {
    return parseRows(text, delimiter, SAMPLE);
  } catch {
    return []; // unclosed quotation mark with this delimiter
  }
}

// Quoted cells may contain delimiters, line breaks and doubled quotes. Empty lines are skipped.
function parseRows(text, delimiter, limit = Infinity) {
  const rows = [];
  let row = [];
  let at = 0;
  while (at < text.length && rows.length < limit) {
    let cell;
    [cell, at] = text[at] === '"' ? quotedCell(text, at, delimiter) : plainCell(text, at, delimiter);
    row.push(cell);
    if (at < text.length && text[at] === delimiter) {
      at += 1;
      if (at < text.length) continue;
      row.push("");
    }
    at += text.startsWith("\r\n", at) ? 2 : 1;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  return rows;
}

function plainCell(text, start, delimiter) {
  let end = start;
  while (end < text.length && text[end] !== delimiter && text[end] !== "\n" && text[end] !== "\r") end += 1;
  return [text.slice(start, end), end];
}

function quotedCell(text, start, delimiter) {
  let cell = "";
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw new TableError("A quotation mark is not closed.");
    cell += text.slice(at, quote);
    at = quote + 1;
    if (text[at] !== '"') break;
    cell += '"';
    at += 1;
  }
  const [rest, end] = plainCell(text, at, delimiter);
  return [cell + rest, end];
}
