// Writes a workbook with one sheet: an uncompressed zip archive of small XML files. Texts are stored as strings, so that none
// becomes a formula.

const MOST_ROWS = 1_048_576;
const MOST_LETTERS = 32_767;
const FORMULA = /^[=+\-@\t\r]/;
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const KINDS = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const FILES = {
  "[Content_Types].xml":
    `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${KINDS}.sheet.main+xml"/>` +
    `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${KINDS}.worksheet+xml"/>` +
    `<Override PartName="/xl/styles.xml" ContentType="${KINDS}.styles+xml"/></Types>`,
  "_rels/.rels": `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  "xl/workbook.xml": `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="onym" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  "xl/_rels/workbook.xml.rels":
    `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>` +
    `<Relationship Id="rId2" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
  "xl/styles.xml":
    `<styleSheet xmlns="${MAIN}"><fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>` +
    '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>' +
    '<cellXfs count="2"><xf xfId="0"/><xf xfId="0" quotePrefix="1"/></cellXfs>' +
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
};

export class SheetError extends Error {}

// Returns the chunks of the file, for a Blob.
export function workbook(columns, rows) {
  if (rows.length >= MOST_ROWS) throw new SheetError("A sheet can have at most 1,048,576 rows. Download CSV instead.");
  const files = Object.entries(FILES).map(([name, text]) => [name, HEAD + text]);
  files.push(["xl/worksheets/sheet1.xml", HEAD + sheet(columns, rows)]);
  return zip(files);
}

function sheet(columns, rows) {
  const lines = [columns, ...rows].map((row) => `<row>${row.map(cell).join("")}</row>`);
  const pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>';
  return `<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">${pane}</sheetView></sheetViews><sheetData>${lines.join("")}</sheetData></worksheet>`;
}

function cell(value) {
  if (value === null || value === undefined || value === "") return "<c/>";
  if (typeof value === "number") return `<c><v>${value}</v></c>`;
  if (value.length > MOST_LETTERS) throw new SheetError("A cell can have at most 32,767 characters. Download CSV instead.");
  const style = FORMULA.test(value) ? ' s="1"' : "";
  return `<c t="inlineStr"${style}><is><t xml:space="preserve">${escaped(value)}</t></is></c>`;
}

// Escapes XML, and writes characters that XML does not allow as _xHHHH_, as spreadsheets do.
function escaped(text) {
  const shown = text.toWellFormed().replace(/_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b-\x1f\ufffe\uffff]/g, (found) => {
    return `_x${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`;
  });
  return shown.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function zip(files) {
  const encoder = new TextEncoder();
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, text] of files) {
    const path = encoder.encode(name);
    const data = encoder.encode(text);
    const common = [20, 0x0800, 0, 0, 0x21, checksum(data), data.length, data.length, path.length, 0];
    const local = record(0x04034b50, common);
    directory.push(record(0x02014b50, [20, ...common, 0, 0, 0, 0, offset]), path);
    parts.push(local, path, data);
    offset += local.length + path.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = record(0x06054b50, [0, 0, files.length, files.length, size, offset, 0]);
  return [...parts, ...directory, end];
}

const WIDTHS = {
  0x04034b50: [2, 2, 2, 2, 2, 4, 4, 4, 2, 2],
  0x02014b50: [2, 2, 2, 2, 2, 2, 4, 4, 4, 2, 2, 2, 2, 2, 4, 4],
  0x06054b50: [2, 2, 2, 2, 4, 4, 2],
};

function record(signature, values) {
  const widths = WIDTHS[signature];
  const view = new DataView(new ArrayBuffer(4 + widths.reduce((sum, width) => sum + width, 0)));
  view.setUint32(0, signature, true);
  let at = 4;
  values.forEach((value, number) => {
    if (widths[number] === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += widths[number];
  });
  return new Uint8Array(view.buffer);
}

const CRC = Uint32Array.from({ length: 256 }, (_, number) => {
  let value = number;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function checksum(data) {
  let value = 0xffffffff;
  for (const byte of data) value = CRC[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
