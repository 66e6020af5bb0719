const headers = {Accept: "application/json"};

export function logIn(fields) {
  return fetch("/auth/login", {method: "POST", headers, body: new URLSearchParams(fields)});
}

export function logOut() {
  return fetch("/auth/logout", {method: "POST", headers});
}

export function send(method, path, document) {
  if (document === undefined) return fetch(path, {method, headers});
  const json = {...headers, "Content-Type": "application/json"};
  return fetch(path, {method, headers: json, body: JSON.stringify(document)});
}
