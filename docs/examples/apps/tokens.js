const site = "http://127.0.0.1:8080";

let tokens = null; // in memory: a reload or a closed tab forgets them
let renewal = null; // of all requests that wait for one

function post(path, document) {
  const headers = {"Content-Type": "application/json"};
  return fetch(site + path, {method: "POST", headers, body: JSON.stringify(document)});
}

export async function logIn(fields) {
  const answer = await post("/auth/login", {...Object.fromEntries(fields), refresh: true});
  if (answer.ok) tokens = await answer.clone().json();
  return answer;
}

export async function logOut() {
  if (tokens) await renew(tokens); // the logout needs a token that has not expired
  if (tokens) await sendOnce("POST", "/auth/logout");
  tokens = null;
}

export async function send(method, path, document) {
  const used = tokens;
  const answer = await sendOnce(method, path, document);
  if (answer.status !== 401 || used === null) return answer;
  await renew(used);
  return sendOnce(method, path, document);
}

function sendOnce(method, path, document) {
  const headers = tokens ? {Authorization: `Bearer ${tokens.access_token}`} : {};
  if (document === undefined) return fetch(site + path, {method, headers});
  headers["Content-Type"] = "application/json";
  return fetch(site + path, {method, headers, body: JSON.stringify(document)});
}

function renew(used) {
  if (used === tokens) renewal ??= refresh().finally(() => { renewal = null; });
  return renewal; // null if another request has renewed them in the meantime
}

async function refresh() {
  const answer = await post("/auth/refresh", {refresh_token: tokens.refresh_token});
  if (!answer.ok && answer.status !== 401) throw new Error(answer.statusText); // try again later
  tokens = answer.ok ? await answer.json() : null; // null: the session has ended
}
