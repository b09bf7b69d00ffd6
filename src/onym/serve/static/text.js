// The text tab: a text, its mentions, filters, and downloads of the shown links.

import { announce, byId, clearError, confidence, fill, make, plural, save, showError } from "./dom.js";
import { showDetails } from "./details.js";
import { pubtator } from "./pubtator.js";
import { ask } from "./service.js";
import { isNegated, marksText, typeName, unlinkedText } from "./words.js";

const EXAMPLE =
  "A 61-year-old woman with type 2 diabetes mellitus (T2DM) and rheumatoid arthritis presented with fever. " +
  "T2DM had been complicated by diabetic retinopathy and chronic kidney disease. Her mother had breast cancer. " +
  "There was no sign of tuberculosis or pneumonia.";
const COLOURS = 8;
const TYPES_SHOWN = 40;
let result = null; // the reply, its text as code points, and the selected mention
let base = () => "v1";

export function startText(pipelineBase) {
  base = pipelineBase;
  byId("link-form").addEventListener("submit", link);
  byId("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("link-form").requestSubmit();
  });
  byId("example").addEventListener("click", () => {
    byId("text").value = EXAMPLE;
    byId("text").focus();
  });
  byId("threshold").addEventListener("input", refilter);
  byId("save-json").addEventListener("click", saveJson);
  byId("save-pubtator").addEventListener("click", savePubtator);
}

async function link(event) {
  event.preventDefault();
  const text = byId("text").value;
  if (!text.trim()) return;
  clearError();
  byId("link").disabled = true;
  announce("Linking …");
  const from = base();
  try {
    const onWait = (seconds) => announce(`The service is busy. Trying again in ${plural(Math.ceil(seconds), "second")} …`);
    show(await ask(`${from}/link`, { text, explain: true }, { onWait }), from);
  } catch (error) {
    showError(error);
  } finally {
    byId("link").disabled = false;
  }
}

function show(answer, from) {
  const types = [...new Set(answer.links.map((each) => typeName(each.type)))].sort();
  const colours = new Map(types.map((type, at) => [type, at % COLOURS]));
  result = { answer, from, points: Array.from(answer.text), colours, selected: -1, wanted: new Set(types) };
  byId("linked").hidden = false;
  showTypes(types);
  showThreshold();
  const hint = make("p", { class: "quiet" }, "Select a mention to see its candidates and why it is linked.");
  fill(byId("details"), hint, ...notMentions(answer.rejections ?? []));
  refilter();
  const linked = answer.links.filter((each) => each.concept_id !== null).length;
  announce(`${plural(answer.links.length, "mention")} found, ${linked} linked.`);
}

// Returns a collapsed list of the names in the text that were not taken as mentions, with the reasons.
function notMentions(rejections) {
  if (!rejections.length) return [];
  const items = rejections.map((each) => make("li", {}, `${each.text}: ${each.detail}`));
  return [make("details", {}, make("summary", {}, `Not taken as mentions: ${rejections.length}`), make("ul", {}, ...items))];
}

function showTypes(types) {
  const counts = new Map(types.map((type) => [type, 0]));
  for (const { type } of result.answer.links) counts.set(typeName(type), counts.get(typeName(type)) + 1);
  const chips = types.slice(0, TYPES_SHOWN).map((type) => {
    const box = make("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      if (box.checked) result.wanted.add(type);
      else result.wanted.delete(type);
      refilter();
    });
    return make("label", { class: `chip ${colourOf(type)}` }, box, type, make("span", { class: "count" }, counts.get(type)));
  });
  fill(byId("types"), ...(chips.length ? chips : [make("span", { class: "quiet" }, "no mentions found")]));
}

function showThreshold() {
  const slider = byId("threshold");
  const isCalibrated = result.answer.links.some((each) => each.confidence !== null);
  slider.disabled = !isCalibrated;
  if (!isCalibrated) slider.value = 0;
  const note = "Links below the minimum are hidden, and left out of downloads.";
  byId("threshold-note").textContent = isCalibrated ? note : "This pipeline is not calibrated: its links have no confidence.";
}

const colourOf = (type) => `k${result.colours.get(typeName(type))}`;

// Returns the indexes of the links that pass the filters.
function shownLinks() {
  const least = Number(byId("threshold").value);
  const isShown = (each) => result.wanted.has(typeName(each.type)) && (least === 0 || (each.confidence ?? 0) >= least);
  return result.answer.links.flatMap((each, at) => (isShown(each) ? [at] : []));
}

function refilter() {
  byId("threshold-value").textContent = Number(byId("threshold").value).toFixed(2);
  if (!result) return;
  const shown = shownLinks();
  byId("shown-count").textContent = `${shown.length} of ${plural(result.answer.links.length, "mention")} shown`;
  fill(byId("marked"), ...marked(shown));
  fill(byId("links").tBodies[0], ...shown.map(row));
  markSelected();
}

// Splits the text into plain and marked pieces. Where mentions overlap, the shortest is marked; the table lists all.
function marked(shown) {
  const links = result.answer.links;
  const cuts = [...new Set([0, result.points.length, ...shown.flatMap((at) => [links[at].start, links[at].end])])].sort((a, b) => a - b);
  const owners = new Array(cuts.length).fill(-1);
  const position = new Map(cuts.map((cut, at) => [cut, at]));
  const longestFirst = [...shown].sort((a, b) => links[b].end - links[b].start - (links[a].end - links[a].start));
  for (const at of longestFirst) owners.fill(at, position.get(links[at].start), position.get(links[at].end));
  const pieces = [];
  for (let at = 0; at + 1 < cuts.length; at += 1) {
    const text = result.points.slice(cuts[at], cuts[at + 1]).join("");
    const isLast = owners[at] !== owners[at + 1];
    pieces.push(owners[at] < 0 ? text : mention(owners[at], text, isLast));
  }
  return glued(pieces);
}

// Keeps brackets, commas and full stops on the same line as the mention next to them.
function glued(pieces) {
  const groups = [];
  for (const piece of pieces) {
    const last = groups.at(-1);
    if (typeof piece !== "string") {
      const [, before, bracket] = typeof last === "string" ? last.match(/^(.*?)([^\s\p{L}\p{N}]{0,3})$/su) : [];
      if (bracket) groups.splice(-1, 1, before);
      groups.push(make("span", { class: "glued" }, bracket, piece));
    } else if (last instanceof Element) {
      const [, stop, after] = piece.match(/^([^\s\p{L}\p{N}]{0,3})(.*)$/su);
      last.append(stop);
      groups.push(after);
    } else groups.push(piece);
  }
  return groups;
}

function mention(at, text, isLast) {
  const link = result.answer.links[at];
  const isLinked = link.concept_id !== null;
  const kind = isLinked ? typeName(link.type) : `${typeName(link.type)}, unlinked`;
  const label = isLast ? make("span", { class: "kind" }, [kind, marksText(link)].filter(Boolean).join(", ")) : null;
  const shown = isNegated(link) ? make("s", {}, text) : text;
  return selector(at, `mention ${isLinked ? colourOf(link.type) : "unlinked"}`, shown, label);
}

function selector(at, className, ...children) {
  const button = make("button", { type: "button", class: className, "aria-pressed": "false" }, ...children);
  button.dataset.link = at;
  button.addEventListener("click", () => select(at));
  return button;
}

function marks(link) {
  return link.assertion ? make("div", { class: "marks" }, marksText(link)) : null;
}

function row(at) {
  const link = result.answer.links[at];
  const concept = link.concept_id === null
    ? [make("span", { class: "quiet" }, `unlinked: ${unlinkedText(link.nil_reason)}`)]
    : [link.preferred_name, " ", make("code", {}, link.concept_id)];
  return make(
    "tr", {},
    make("th", { scope: "row" }, selector(at, "plain", link.text), marks(link)),
    make("td", {}, make("span", { class: `tag ${colourOf(link.type)}` }, typeName(link.type))),
    make("td", {}, ...concept),
    make("td", {}, confidence(link.confidence)),
  );
}

function select(at) {
  result.selected = at;
  markSelected();
  const link = result.answer.links[at];
  const explanation = (result.answer.explanations ?? [])[at];
  showDetails(byId("details"), { link, explanation, base: result.from, colour: colourOf(link.type) });
  const meaning = link.concept_id === null ? `unlinked: ${unlinkedText(link.nil_reason)}` : `${link.preferred_name}, ${link.concept_id}`;
  const certainty = link.confidence === null ? "" : `, confidence ${link.confidence.toFixed(2)}`;
  const asserted = link.assertion ? `, ${marksText(link)}` : "";
  announce(`${link.text}: ${meaning}${certainty}${asserted}.`);
  const details = byId("details");
  if (details.getBoundingClientRect().top > window.innerHeight - 80) details.scrollIntoView({ block: "start" });
}

function markSelected() {
  for (const button of document.querySelectorAll("[data-link]")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.link) === result.selected));
  }
}

function saveJson() {
  const { id, text, links, problems } = result.answer;
  const kept = { id, text, links: shownLinks().map((at) => links[at]), problems };
  save("links.json", "application/json", `${JSON.stringify(kept, null, 2)}\n`);
}

function savePubtator() {
  const links = shownLinks().map((at) => result.answer.links[at]);
  save("links.pubtator", "text/plain", pubtator({ id: result.answer.id, points: result.points, links }));
  const lost = links.filter((link) => link.assertion).length;
  if (lost) announce(`links.pubtator was downloaded. PubTator cannot store marks such as negated: ${plural(lost, "mention")} lost them.`);
}
