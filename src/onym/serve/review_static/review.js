// The review page: one mention at a time, decided by one key.

import { announce, byId, clearError, fill, make, number, plural, showError } from "./dom.js";
import { ask, onTokenNeeded } from "./service.js";

const SCOPES = ["here", "document", "everywhere"];
const INEXACT = { b: "broader", n: "narrower", c: "close" };
const state = { item: null, csrf: "", role: "", chosen: 0, found: null, shownAt: 0, skipped: [], made: [], busy: false, units: null };

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
  await readDesk();
  await showNext();
}

async function readDesk() {
  const desk = await ask("v1/review/desk");
  Object.assign(state, { csrf: desk.csrf, role: desk.role });
  byId("title").textContent = desk.title || "Review of links";
  byId("who").textContent = `${desk.reviewer}, ${desk.role}`;
  showProgress(desk.progress);
  if (!desk.same_kb) announce("This desk was made with another knowledge base.");
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
  Object.assign(state, { item, chosen: 0, found: null, shownAt: performance.now() });
  byId("item").hidden = item === null;
  byId("done").hidden = item !== null;
  byId("whole").hidden = true;
  if (item === null) return;
  fill(byId("sentence"), item.before, make("mark", {}, item.surface), item.after);
  const linked = item.concept_id === null ? `not linked (${item.nil_reason})` : "";
  const confidence = item.confidence === null ? "" : `confidence ${item.confidence.toFixed(2)}`;
  const facts = [`document ${item.document_id}`, item.type, linked, confidence, item.detail ?? "", item.verdict ? `decided: ${item.verdict}` : ""];
  byId("facts").textContent = facts.filter(Boolean).join(" · ");
  for (const each of SCOPES) byId(`count-${each}`).textContent = `(${plural(item.affected[each], "link")})`;
  fill(byId("hits"));
  byId("search").value = "";
  byId("item").querySelector("[data-act=right]").disabled = item.concept_id === null;
  showCandidates();
  byId("main").focus({ preventScroll: true });
}

function showCandidates() {
  fill(byId("candidates"), ...state.item.candidates.map((each, at) => conceptRow(each, at + 1, at === state.chosen)));
}

function conceptRow(concept, key, isChosen) {
  const choose = make("button", { type: "button", "aria-label": `${key}: ${concept.preferred_name || concept.id}` }, String(key));
  choose.addEventListener("click", () => pick(concept));
  const lines = [
    concept.definitions?.[0],
    concept.names?.length ? `Names: ${concept.names.slice(0, 8).join("; ")}` : "",
    concept.parents?.length ? `Parents: ${concept.parents.slice(0, 5).join("; ")}` : "",
    concept.children?.length ? `Children: ${concept.children.slice(0, 8).join("; ")}${concept.children.length > 8 ? " …" : ""}` : "",
  ].filter(Boolean);
  const head = make("p", {}, choose, make("strong", {}, concept.preferred_name || concept.id), " ", make("code", {}, concept.id));
  return make("li", isChosen ? { class: "chosen" } : {}, head, ...lines.map((line) => make("p", { class: "quiet" }, line)));
}

function pick(concept) {
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
    if (last.link !== null) showItem(await ask(`v1/review/links/${last.link}`));
  });
}

async function search() {
  const { hits } = await ask(`v1/review/search?q=${encodeURIComponent(byId("search").value)}`);
  state.found = hits[0] ?? null;
  fill(byId("hits"), ...hits.map((each) => conceptRow(each, "✓", false)));
  announce(hits.length ? plural(hits.length, "concept") : "No concept found.");
  byId("hits").querySelector("button")?.focus();
}

async function showDocument() {
  const found = await ask(`v1/review/documents/${state.item.document}`);
  if (found.text === null) return announce("The desk has no text of this document.");
  byId("text").value = found.text;
  byId("item").hidden = true;
  byId("whole").hidden = false;
  byId("whole-title").textContent = `Document ${found.id}`;
  fill(byId("marks"), ...found.links.map((each) => make("li", {}, `${each.surface}: ${each.concept_id ?? "not linked"}`)));
  const [start, end] = [state.item.start, state.item.end].map((at) => [...found.text].slice(0, at).join("").length);
  byId("text").focus();
  byId("text").setSelectionRange(start, end);
  return null;
}

function selected() {
  const { value, selectionStart, selectionEnd } = byId("text");
  return { start: codePoints(value.slice(0, selectionStart)), end: codePoints(value.slice(0, selectionEnd)) };
}

function decidePlace(verdict) {
  const { start, end } = selected();
  if (start === end) return announce("Select the text of the mention first.");
  const named = state.found?.curie ?? state.item.concept_id;
  if (verdict === "span") return decide({ verdict, start, end, ...(state.found ? { concept_id: named } : {}) });
  if (!named) return announce("Search the concept of the mention first.");
  return decide({ verdict, document: state.item.document, start, end, concept_id: named }, async () => {});
}

function cycleScope() {
  const next = SCOPES[(SCOPES.indexOf(scope()) + 1) % SCOPES.length];
  document.querySelector(`input[name=scope][value=${next}]`).checked = true;
  announce(`For ${next}: ${plural(state.item.affected[next], "link")}.`);
}

function move(step) {
  const count = state.item.candidates.length;
  if (!count) return;
  state.chosen = (state.chosen + step + count) % count;
  showCandidates();
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
  const isTyping = event.target.matches("input[type=search], input[type=password]");
  if (isTyping) {
    if (event.key === "Escape") byId("main").focus();
    return;
  }
  const act = isWhole ? textKeys[event.key] : keys[event.key];
  if (act && (state.item || act === "undo")) run(event, acts[act]);
  else if (!isWhole && state.item) onItemKey(event);
}

function onItemKey(event) {
  const concept = /^[1-9]$/.test(event.key) ? state.item.candidates[Number(event.key) - 1] : undefined;
  const first = state.found ?? state.item.candidates[state.chosen];
  if (concept) run(event, () => pick(concept));
  else if (INEXACT[event.key] && first) run(event, () => decide({ verdict: INEXACT[event.key], concept_id: first.curie }));
  else if (event.key === "s") run(event, cycleScope);
  else if (event.key === "/") run(event, () => byId("search").focus());
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
