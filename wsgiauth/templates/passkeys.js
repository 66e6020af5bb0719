// A button that asks the browser for a passkey and sends its form with the answer (W3C Web
// Authentication). Without this script, the button stays hidden and all else works.
(() => {
  "use strict";

  const decode = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0));

  const encode = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer)))
      .replace(/\+/g, "-")
      .replace(/\//g, "_")
      .replace(/=/g, "");

  const decodeIds = (list) => list.map((each) => ({ ...each, id: decode(each.id) }));

  const ask = (options) => {
    const publicKey = { ...options, challenge: decode(options.challenge) };
    if (options.user) {
      publicKey.user = { ...options.user, id: decode(options.user.id) };
      publicKey.excludeCredentials = decodeIds(options.excludeCredentials);
      return navigator.credentials.create({ publicKey });
    }
    publicKey.allowCredentials = decodeIds(options.allowCredentials);
    return navigator.credentials.get({ publicKey });
  };

  const write = ({ id, type, response }) => {
    const parts = {};
    for (const name of [
      "clientDataJSON",
      "attestationObject",
      "authenticatorData",
      "signature",
      "userHandle",
    ]) {
      if (response[name]) {
        parts[name] = encode(response[name]);
      }
    }
    if (response.getTransports) {
      parts.transports = response.getTransports();
    }
    return JSON.stringify({ id, type, response: parts });
  };

  const prepare = (part) => {
    const { origin, ...options } = JSON.parse(part.dataset.options);
    const button = part.querySelector("button");
    const messages = [...part.querySelectorAll("[data-error]")];
    if (origin !== location.origin) {
      const elsewhere = part.querySelector("[data-elsewhere]");
      const link = elsewhere.querySelector("a");
      link.href = origin + location.pathname;
      link.textContent = origin;
      button.hidden = true;
      elsewhere.hidden = part.hidden = false;
      return;
    }
    if (!window.PublicKeyCredential) {
      document.querySelectorAll("[data-unsupported]").forEach((each) => (each.hidden = false));
      return;
    }
    let isBusy = false;
    button.addEventListener("click", async () => {
      if (isBusy || (options.user && !button.form.reportValidity())) {
        return;
      }
      isBusy = true;
      let error = "";
      try {
        button.form.elements.credential.value = write(await ask(options));
        button.form.submit();
      } catch (problem) {
        error = problem.name === "InvalidStateError" ? "known" : "failed";
      }
      for (const each of messages) {
        each.hidden = each.dataset.error !== error;
      }
      isBusy = false;
    });
    part.hidden = false;
  };

  document.querySelectorAll("[data-options]").forEach(prepare);
})();
