// PubTator, in the same format as Onym's own writer: a title line, an abstract line, then a line for each mention.

const BREAKS = /[\n\r\0]/g;
const SPECIAL = /[\t\n\r\0]/g;

// `points` are the code points of the text; offsets count them.
export function pubtator({ id, points, links }) {
  const text = points.map((point) => point.replace(BREAKS, " "));
  const lines = [`${id}|t|${text.join("")}`, `${id}|a|`];
  for (const link of links) {
    const cells = [id, link.start, link.end, text.slice(link.start, link.end).join(""), (link.type ?? "").replace(SPECIAL, " ")];
    if (link.concept_id !== null) cells.push(link.concept_id.replace(SPECIAL, " "));
    lines.push(cells.join("\t"));
  }
  return `${lines.join("\n")}\n\n`;
}
