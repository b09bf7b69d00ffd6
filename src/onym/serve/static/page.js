// Entry point of the page: tabs, pipelines, token.

import { announce, byId, fill, make, showError } from "./dom.js";
import { ask, onTokenNeeded } from "./service.js";
import { startTable } from "./table.js";
import { startText } from "./text.js";

let pipelines = {};

// If there are several pipelines, each has its own routes under its name.
function base() {
  const names = Object.keys(pipelines);
  return names.length > 1 ? `v1/${encodeURIComponent(byId("pipeline").value)}` : "v1";
}

async function showPipelines() {
  try {
    pipelines = await ask("v1/pipelines", null, { onWait: () => announce("The service is opening its pipelines …") });
  } catch (error) {
    showError(error);
    return;
  }
  announce("");
  const names = Object.keys(pipelines);
  fill(byId("pipeline"), ...names.map((name) => make("option", { value: name }, name)));
  byId("pipeline-field").hidden = names.length < 2;
  showRelease();
}

function showRelease() {
  const names = Object.keys(pipelines);
  const current = pipelines[names.length > 1 ? byId("pipeline").value : names[0]];
  byId("release").textContent = current ? `Release ${current.release}` : "";
}

function startTabs() {
  const tabs = [byId("tab-text"), byId("tab-table")];
  const choose = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
    announce("");
  };
  const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length };
  tabs.forEach((tab, at) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(steps, event.key)) return;
      event.preventDefault();
      const step = steps[event.key];
      const to = Math.abs(step) === 1 ? (at + step + tabs.length) % tabs.length : step < 0 ? 0 : tabs.length - 1;
      choose(tabs[to]);
      tabs[to].focus();
    });
  });
}

// Shows the token form and returns a promise of the token.
function askForToken(wasWrong) {
  const form = byId("token-form");
  form.hidden = false;
  byId("token").value = "";
  byId("token").focus();
  announce(wasWrong ? "The token was not accepted. Try another one." : "This service needs a token.");
  return new Promise((resolve) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const value = byId("token").value.trim();
      byId("token").value = "";
      form.hidden = true;
      announce("");
      resolve(value);
    }, { once: true });
  });
}

onTokenNeeded(askForToken);
startTabs();
startText(base);
startTable(base);
byId("pipeline").addEventListener("change", showRelease);
showPipelines();
