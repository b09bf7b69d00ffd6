// Requests to the service of this page. All URLs are relative, so that a proxy may serve the page under another path.

const ATTEMPTS = 20;
const LONGEST_WAIT_S = 60;
let token = ""; // kept in memory only
let askForToken = null;
let asking = null;

export class ServiceError extends Error {
  constructor({ code = "", what = "", where = "", fix = "" }, status = 0) {
    super(what);
    Object.assign(this, { code, what, where, fix, status });
  }
}

// Sets the function that is called when the service needs a token, and returns a promise of one.
export function onTokenNeeded(ask) {
  askForToken = ask;
}

// Returns the JSON of a response. If the service is overloaded, calls `onWait` and retries after the time in Retry-After.
export async function ask(path, body = null, { signal = null, onWait = () => {}, headers = {} } = {}) {
  for (let attempt = 1; ; attempt += 1) {
    const sent = token;
    const response = await send(path, body, signal, headers);
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

async function send(path, body, signal, more) {
  const headers = token ? { ...more, Authorization: `Bearer ${token}` } : { ...more };
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
    const what = `The response has status ${response.status} and no error message`;
    return new ServiceError({ what, fix: "A proxy between this page and the service may have rejected the request." }, response.status);
  }
}

function secondsToWait(response) {
  const stated = Number(response.headers.get("Retry-After"));
  if (![429, 503].includes(response.status) || !(stated > 0)) return null;
  return Math.min(stated, LONGEST_WAIT_S);
}

// Asks for a token once, even if several requests need it; does nothing if the token has changed since `sent`.
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
