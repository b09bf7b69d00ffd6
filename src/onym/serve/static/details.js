// Details of a mention: matched synonym, expansion, reasons, runner-up, candidates, and the concept.

import { confidence, fill, make, showError } from "./dom.js";
import { ask } from "./service.js";
import { marksText, parentNames, reasonText, typeName, unlinkedText } from "./words.js";

const NAMES = 12; // maximum names of a concept to show
const EFFECTS = 5;
const CANDIDATES = 5;

export function showDetails(target, { link, explanation, base, colour }) {
  const concept = make("div", { class: "concept" });
  const look = (id) => showConcept(concept, base, id);
  fill(
    target,
    make("h2", {}, link.text, " ", make("span", { class: `tag ${link.concept_id === null ? "unlinked" : colour}` }, typeName(link.type))),
    ...answer(link),
    make("h3", {}, "Why"),
    make("ul", { class: "reasons" }, ...reasons(link, explanation)),
    effects(explanation),
    link.candidates.length ? make("h3", {}, "Candidates") : null,
    link.candidates.length ? candidates(link, explanation, look) : null,
    concept,
  );
  if (link.candidates.length) look(link.candidates[0].concept_id);
}

function answer(link) {
  const marks = link.assertion ? [make("p", { class: "marks" }, `In this text: ${marksText(link)}`)] : [];
  if (link.concept_id === null) return [make("p", { class: "answer" }, `Unlinked: ${unlinkedText(link.nil_reason)}.`), ...marks];
  return [
    make("p", { class: "answer" }, make("strong", {}, link.preferred_name), " ", make("code", {}, link.concept_id)),
    ...marks,
    make("p", {}, make("span", { class: "label" }, "Confidence "), confidence(link.confidence)),
  ];
}

function reasons(link, explanation) {
  const best = link.candidates[0];
  const lines = [];
  const add = (...parts) => lines.push(make("li", {}, ...parts));
  if (explanation?.expansion) add("Abbreviation: in this text it stands for ", make("q", {}, explanation.expansion), ".");
  if (best) {
    const from = explanation?.name_kind ? ` (${[explanation.name_kind, ...explanation.name_sources].join(", ")})` : "";
    add("Matched synonym: ", make("q", {}, best.matched_name), from, ".");
    add(`Score ${best.score.toFixed(3)}`, link.stage ? `, by ${link.stage}` : "", ".");
  }
  for (const reason of explanation?.reasons ?? []) add(reasonText(reason));
  if (link.ties) add(`${link.ties} other ${link.ties === 1 ? "concept has" : "concepts have"} the same score.`);
  const second = link.candidates[1];
  if (second) {
    const margin = explanation?.margin ?? best.score - second.score;
    add("Runner-up: ", second.preferred_name, " ", make("code", {}, second.concept_id), `, ${margin.toFixed(3)} behind.`);
  }
  return lines.length ? lines : [make("li", {}, "No candidates.")];
}

function effects(explanation) {
  const strongest = (explanation?.effects ?? []).slice(0, EFFECTS);
  if (!strongest.length) return null;
  const shown = (value) => (value === null ? "unknown" : Number(value.toPrecision(3)).toString());
  const rows = strongest.map((each) => make(
    "tr", {},
    make("th", { scope: "row" }, make("code", {}, each.feature)),
    make("td", {}, shown(each.value)),
    make("td", {}, shown(each.runner_up)),
    make("td", {}, `${each.effect < 0 ? "−" : "+"}${Math.abs(each.effect).toFixed(2)}`),
  ));
  const heads = ["Feature", "Concept", "Runner-up", "Effect"].map((head) => make("th", { scope: "col" }, head));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  return make("details", {}, make("summary", {}, "Features of the reranker"), table);
}

function candidates(link, explanation, look) {
  const rows = link.candidates.map((each, at) => {
    const name = make("button", { type: "button", class: "plain" }, each.preferred_name || each.matched_name);
    name.addEventListener("click", () => look(each.concept_id));
    return make(
      "tr", {},
      make("td", {}, at + 1),
      make("th", { scope: "row" }, name, " ", make("code", {}, each.concept_id), parentsLine(explanation?.parents?.[each.concept_id])),
      make("td", {}, each.matched_name),
      make("td", { class: "number" }, each.score.toFixed(3)),
    );
  });
  const heads = ["Rank", "Concept", "Matched synonym", "Score"].map((head) => make("th", { scope: "col" }, head));
  const body = make("tbody", {}, ...rows.slice(0, CANDIDATES));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body);
  return make("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "Candidates" }, table, more(rows, body));
}

export function parentsLine(parents) {
  const found = parentNames(parents);
  return found && make("div", { class: "parents" }, `${found[0]}: ${found[1]}`);
}

function more(rows, body) {
  if (rows.length <= CANDIDATES) return null;
  const button = make("button", { type: "button", class: "plain" }, `Show all ${rows.length} candidates`);
  button.addEventListener("click", () => {
    fill(body, ...rows);
    button.remove();
    rows[CANDIDATES].querySelector("button").focus();
  });
  return button;
}

// Shows a concept of the knowledge base. Only its id becomes part of a URL.
async function showConcept(target, base, id) {
  target.dataset.wanted = id;
  try {
    const concept = await ask(`${base}/concepts/${encodeURIComponent(id)}`);
    if (target.dataset.wanted === id) fill(target, ...conceptCard(concept));
  } catch (error) {
    if (error.status !== 404) showError(error);
    else if (target.dataset.wanted === id) fill(target);
  }
}

function conceptCard(concept) {
  const facts = [];
  const add = (name, values) => values.length && facts.push(make("dt", {}, name), ...values.map((value) => make("dd", {}, value)));
  add("Definition", concept.definitions.slice(0, 2));
  const more = concept.names.length - NAMES;
  add("Synonyms", [concept.names.slice(0, NAMES).join("; ") + (more > 0 ? `; and ${more} more` : "")]);
  const parents = parentNames(concept.parents);
  if (parents) add(parents[0], [parents[1]]);
  add("Semantic types", concept.groups.concat(concept.types).length ? [concept.groups.concat(concept.types).join("; ")] : []);
  add("Cross-references", concept.xrefs.length ? [concept.xrefs.slice(0, NAMES).join("; ")] : []);
  return [make("h3", {}, concept.preferred_name, " ", make("code", {}, concept.id)), make("dl", {}, ...facts)];
}
