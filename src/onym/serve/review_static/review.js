// The review page: one mention at a time, decided by one key.

import { announce, byId, clearError, fill, make, number, plural, showError } from "./dom.js";
import { ask, onTokenNeeded } from "./service.js";

const SCOPES = ["here", "document", "everywhere"];
const INEXACT = { b: "broader", n: "narrower", c: "close" };
// `listed` has the concepts that are shown, candidates before hits; `chosen` is the position of the open one, `wasChosen` whether a person opened it.
const state = {
  item: null, csrf: "", role: "", noun: "document", hits: [], chosen: 0, wasChosen: false, shownAt: 0, skipped: [], made: [], busy: false,
};

const codePoints = (text) => [...text].length;
const scope = () => document.querySelector("input[name=scope]:checked").value;

onTokenNeeded((wasWrong) => {
  byId("token-form").hidden = false;
  byId("token").focus();
  if (wasWrong) announce("This token is wrong.");
  return new Promise((resolve) => {
    byId("token-form").onsubmit = (event) => {
      event.preventDefault();
      byId("token-form").hidden = true;
      const value = byId("token").value.trim();
      byId("token").value = "";
      resolve(value);
    };
  });
});

async function start() {
  const desk = await readDesk();
  state.made = desk.recent;
  if (desk.are_terms) chooseScope("everywhere");
  await showNext();
}

async function readDesk() {
  const desk = await ask("v1/review/desk");
  Object.assign(state, { csrf: desk.csrf, role: desk.role, noun: desk.are_terms ? "row" : "document" });
  document.body.classList.toggle("is-reader", desk.role !== "reviewer");
  byId("title").textContent = desk.title || "Review of links";
  const facts = [desk.reviewer, desk.role === "reviewer" ? "" : "may only read", desk.is_blind ? "blind" : ""];
  facts.push(desk.same_kb ? "" : "this desk was made with another knowledge base");
  byId("who").textContent = facts.filter(Boolean).join(" · ");
  showProgress(desk.progress);
  return desk;
}

function showProgress({ queued, undecided }) {
  byId("progress").textContent = `${number(queued - undecided)} of ${plural(queued, "link")} decided`;
}

async function showNext() {
  const { item, progress } = await ask(`v1/review/next?skipped=${state.skipped.join(",")}`);
  showProgress(progress);
  if (item === null && state.skipped.length) {
    state.skipped = [];
    await showNext();
    return;
  }
  showItem(item);
}

function showItem(item) {
  Object.assign(state, { item, hits: [], shownAt: performance.now() });
  for (const each of ["item", "searching"]) byId(each).hidden = item === null;
  byId("done").hidden = item !== null;
  byId("whole").hidden = true;
  if (item === null) return;
  fill(byId("sentence"), item.before, make("mark", {}, item.surface), item.after);
  const linked = item.concept_id === null ? `not linked (${item.nil_reason})` : "";
  const confidence = item.confidence === null ? "" : `confidence ${item.confidence.toFixed(2)}`;
  const labels = Object.entries(item.labels).map(([reviewer, label]) => `${reviewer}: ${label}`);
  const facts = [`${state.noun} ${item.document_id}`, item.type, linked, confidence, item.detail ?? "", item.verdict ? `decided: ${item.verdict}` : "", ...labels];
  byId("facts").textContent = facts.filter(Boolean).join(" · ");
  for (const each of SCOPES) byId(`count-${each}`).textContent = `(${plural(item.affected[each], "link")})`;
  byId("search").value = "";
  byId("item").querySelector("[data-act=right]").disabled = item.concept_id === null;
  showConcepts();
  byId("main").focus({ preventScroll: true });
}

const listed = () => [...state.item.candidates, ...state.hits];

function showConcepts() {
  const count = state.item.candidates.length;
  fill(byId("candidates"), ...state.item.candidates.map((each, at) => conceptRow(each, at, String(at + 1))));
  fill(byId("hits"), ...state.hits.map((each, at) => conceptRow(each, count + at, "✓")));
  choose(0, false);
}

// Opens a concept: it shows all that is known of it, and `b`, `n`, `c` and missed mentions are about it.
function choose(at, byPerson = true) {
  Object.assign(state, { chosen: at, wasChosen: byPerson });
  document.querySelectorAll(".candidates > li").forEach((row, number) => row.classList.toggle("chosen", number === at));
  const concept = byPerson ? listed()[at] : null;
  byId("meaning").textContent = concept ? `It means ${concept.preferred_name || concept.id} (${concept.id}).` : "";
}

function conceptRow(concept, at, key) {
  const take = make("button", { type: "button", "aria-label": `${key}: ${concept.preferred_name || concept.id}` }, key);
  take.addEventListener("click", (event) => run(event, () => pick(concept)));
  take.addEventListener("focus", () => choose(at));
  const list = (name, values, most) => (values?.length ? `${name}: ${values.slice(0, most).join("; ")}${values.length > most ? " …" : ""}` : "");
  const lines = [list("Names", concept.names, 8), list("Parents", concept.parents, 5), list("Children", concept.children, 8)].filter(Boolean);
  const inexact = Object.entries(INEXACT).map(([letter, verdict]) => {
    const button = make("button", { type: "button", class: "decides" }, `Concept is ${verdict} `, make("kbd", {}, letter));
    button.addEventListener("click", (event) => run(event, () => decide({ verdict, concept_id: concept.curie })));
    return button;
  });
  const more = make("div", { class: "more" }, ...lines.map((line) => make("p", { class: "quiet" }, line)), make("div", { class: "row" }, ...inexact));
  const head = make("p", {}, take, make("strong", {}, concept.preferred_name || concept.id), " ", make("code", {}, concept.id));
  const row = make("li", {}, head, make("p", { class: "quiet definition" }, concept.definitions?.[0] ?? ""), more);
  row.addEventListener("click", () => choose(at));
  return row;
}

// Takes a concept: in a document it is what the selected text means, otherwise it is the answer.
function pick(concept) {
  if (!byId("whole").hidden) return byId("text").focus();
  const isLinked = concept.curie === state.item.concept_id;
  return decide({ verdict: isLinked ? "right" : "concept", concept_id: concept.curie });
}

// Sends a decision and shows the next link. The id is made here, so that a decision that is sent again counts once.
async function decide(wanted, after = showNext) {
  if (state.busy || state.role !== "reviewer") return;
  state.busy = true;
  const id = crypto.randomUUID?.() ?? String(Math.random()).slice(2).padEnd(16, "0");
  const isPlace = ["span", "missed", "undo"].includes(wanted.verdict);
  const own = wanted.verdict === "missed" || wanted.verdict === "undo" ? {} : { link: state.item.link };
  const seconds = Math.min(86_400, (performance.now() - state.shownAt) / 1000);
  const body = { id, seconds, scope: isPlace ? "here" : scope(), ...own, ...wanted };
  try {
    const { progress } = await send(body);
    clearError();
    if (wanted.verdict !== "undo") state.made.push({ id, link: state.item?.link ?? null });
    showProgress(progress);
    announce(`Stored: ${wanted.verdict.replaceAll("-", " ")}.`);
    await after();
  } catch (error) {
    showError(error);
  } finally {
    state.busy = false;
  }
}

async function send(body) {
  try {
    return await ask("v1/review/decisions", body, { headers: { "X-Onym-CSRF": state.csrf } });
  } catch (error) {
    if (error.code !== "serve-csrf") throw error;
    await readDesk(); // the server was started again
    return ask("v1/review/decisions", body, { headers: { "X-Onym-CSRF": state.csrf } });
  }
}

async function undo() {
  const last = state.made.at(-1);
  if (!last) return announce("Nothing to undo.");
  return decide({ verdict: "undo", undoes: last.id }, async () => {
    state.made.pop();
    if (last.link === null) await showDocument();
    else showItem(await ask(`v1/review/links/${last.link}`));
  });
}

async function search() {
  const { hits } = await ask(`v1/review/search?q=${encodeURIComponent(byId("search").value)}`);
  state.hits = hits;
  showConcepts();
  announce(hits.length ? plural(hits.length, "concept") : "No concept found.");
  byId("hits").querySelector("button")?.focus();
}

async function showDocument() {
  if (!state.item) return;
  const found = await ask(`v1/review/documents/${state.item.document}`);
  if (found.text === null) return announce("The desk has no text of this document.");
  const units = [...found.text];
  byId("text").value = found.text;
  byId("item").hidden = true;
  byId("whole").hidden = false;
  byId("whole-title").textContent = `Document ${found.id}`;
  const marks = found.links.map((each) => markButton(`${each.surface}: ${each.name ?? "not linked"}`, () => openLink(each.link)));
  const missed = found.missed.map((each) => make("li", { class: "quiet" }, `${units.slice(each.start, each.end).join("")}: ${each.name} (missed)`));
  fill(byId("marks"), ...marks, ...missed);
  const [start, end] = [state.item.start, state.item.end].map((at) => units.slice(0, at).join("").length);
  byId("text").focus();
  byId("text").setSelectionRange(start, end);
}

async function openLink(link) {
  showItem(await ask(`v1/review/links/${link}`));
}

function markButton(text, act) {
  const button = make("button", { type: "button" }, text);
  button.addEventListener("click", (event) => run(event, act));
  return make("li", {}, button);
}

function selected() {
  const { value, selectionStart, selectionEnd } = byId("text");
  return { start: codePoints(value.slice(0, selectionStart)), end: codePoints(value.slice(0, selectionEnd)) };
}

function decidePlace(verdict) {
  const { start, end } = selected();
  if (start === end) return announce("Select the text of the mention first.");
  const concept = state.wasChosen ? { concept_id: listed()[state.chosen].curie } : {};
  if (verdict === "span") return decide({ verdict, start, end, ...concept });
  if (!state.wasChosen) {
    byId("search").select();
    return announce("Search the concept of the missed mention first.");
  }
  return decide({ verdict, document: state.item.document, start, end, ...concept }, async () => {
    await showDocument();
    byId("text").setSelectionRange(byId("text").value.length, byId("text").value.length);
  });
}

function chooseScope(name) {
  document.querySelector(`input[name=scope][value=${name}]`).checked = true;
}

function cycleScope() {
  const next = SCOPES[(SCOPES.indexOf(scope()) + 1) % SCOPES.length];
  chooseScope(next);
  announce(`For ${next}: ${plural(state.item.affected[next], "link")}.`);
}

function move(step) {
  const count = listed().length;
  if (!count) return;
  choose((state.chosen + step + count) % count);
  const row = document.querySelectorAll(".candidates > li")[state.chosen];
  if (document.activeElement.closest(".candidates")) row.querySelector("button").focus();
  row.scrollIntoView({ block: "nearest" });
}

const acts = {
  right: () => state.item.concept_id && decide({ verdict: "right", concept_id: state.item.concept_id }),
  "not-a-mention": () => decide({ verdict: "not-a-mention" }),
  "no-concept": () => decide({ verdict: "no-concept" }),
  unsure: () => decide({ verdict: "unsure" }),
  skip: () => (state.skipped.push(state.item.cluster), showNext()),
  undo,
  document: showDocument,
  item: () => showItem(state.item),
  span: () => decidePlace("span"),
  missed: () => decidePlace("missed"),
};
const keys = { y: "right", x: "not-a-mention", 0: "no-concept", u: "unsure", l: "skip", z: "undo", d: "document" };
const textKeys = { o: "span", m: "missed", Escape: "item", z: "undo" };

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const isWhole = !byId("whole").hidden;
  if (event.target.matches("input[type=search], input[type=password]")) {
    if (event.key === "Escape") (isWhole ? byId("text") : byId("main")).focus();
    return;
  }
  const act = isWhole ? textKeys[event.key] : keys[event.key];
  if (act && (state.item || act === "undo")) run(event, acts[act]);
  else if (event.key === "/" && state.item) run(event, () => byId("search").select());
  else if (!isWhole && state.item) onItemKey(event);
}

function onItemKey(event) {
  const concept = /^[1-9]$/.test(event.key) ? state.item.candidates[Number(event.key) - 1] : undefined;
  const open = listed()[state.chosen];
  if (concept) run(event, () => pick(concept));
  else if (INEXACT[event.key] && open) run(event, () => decide({ verdict: INEXACT[event.key], concept_id: open.curie }));
  else if (event.key === "s") run(event, cycleScope);
  else if (["ArrowDown", "ArrowUp"].includes(event.key) && !event.target.matches("input")) run(event, () => move(event.key === "ArrowDown" ? 1 : -1));
}

async function run(event, act) {
  event.preventDefault();
  try {
    await act();
  } catch (error) {
    showError(error);
  }
}

document.addEventListener("keydown", onKey);
for (const button of document.querySelectorAll("[data-act]")) {
  button.addEventListener("click", (event) => run(event, acts[button.dataset.act]));
}
// The text cannot be changed; it is not `readonly`, because then the arrow keys would not move the caret.
byId("text").addEventListener("beforeinput", (event) => event.preventDefault());
byId("search-form").addEventListener("submit", (event) => run(event, search));
start().catch(showError);
