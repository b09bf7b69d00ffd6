// PubTator, as the service's own writer makes it: one line each for title and abstract, then one for each mention.

const BREAKS = /[\n\r\0]/g;
const SPECIAL = /[\t\n\r\0]/g;

// `points` are the code points of the text, which offsets count.
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
