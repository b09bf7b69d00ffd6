// Requests to the service this page came from. All addresses are relative, so that a proxy may serve it at another path.

const ATTEMPTS = 20;
const LONGEST_WAIT_S = 60;
let token = ""; // in memory alone: closing the page forgets it
let askForToken = null;
let asking = null;

export class ServiceError extends Error {
  constructor({ code = "", what = "", where = "", fix = "" }, status = 0) {
    super(what);
    Object.assign(this, { code, what, where, fix, status });
  }
}

// `ask` is called when the service wants a token: it returns a promise of one.
export function onTokenNeeded(ask) {
  askForToken = ask;
}

// Returns the JSON of an answer. An overloaded service is asked again when it says; `onWait` hears of it.
export async function ask(path, body = null, { signal = null, onWait = () => {} } = {}) {
  for (let attempt = 1; ; attempt += 1) {
    const sent = token;
    const response = await send(path, body, signal);
    if (response.ok) return response.json();
    const error = await errorOf(response);
    if (error.code === "serve-token") {
      await newToken(sent);
      continue;
    }
    const seconds = secondsToWait(response);
    if (seconds === null || attempt >= ATTEMPTS) throw error;
    onWait(seconds, error);
    await pause(seconds, signal);
  }
}

async function send(path, body, signal) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const request = { headers, signal, cache: "no-store", redirect: "error" };
  if (body !== null) {
    headers["Content-Type"] = "application/json";
    Object.assign(request, { method: "POST", body: JSON.stringify(body) });
  }
  try {
    return await fetch(path, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError({ code: "unreachable", what: "The service cannot be reached", fix: "Check that it is running, and try again." });
  }
}

async function errorOf(response) {
  try {
    return new ServiceError((await response.json()).error, response.status);
  } catch {
    const what = `The answer has the status ${response.status} and no explanation`;
    return new ServiceError({ what, fix: "A proxy between this page and the service may have refused the request." }, response.status);
  }
}

function secondsToWait(response) {
  const stated = Number(response.headers.get("Retry-After"));
  if (![429, 503].includes(response.status) || !(stated > 0)) return null;
  return Math.min(stated, LONGEST_WAIT_S);
}

// One question for a token at a time, also where several requests need it; none where there is another one meanwhile.
async function newToken(sent) {
  if (sent !== token) return;
  asking ??= askForToken(token !== "").then((value) => {
    token = value;
    asking = null;
  });
  await asking;
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    });
  });
}
