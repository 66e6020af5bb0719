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

  const ask = (options, further) => {
    const publicKey = { ...options, challenge: decode(options.challenge) };
    if (options.user) {
      publicKey.user = { ...options.user, id: decode(options.user.id) };
      publicKey.excludeCredentials = decodeIds(options.excludeCredentials);
      return navigator.credentials.create({ publicKey, ...further });
    }
    publicKey.allowCredentials = decodeIds(options.allowCredentials);
    return navigator.credentials.get({ publicKey, ...further });
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

  // A challenge lasts ten minutes (`challenges.LIFETIME`), and a page can be open for longer.
  const lasts = 9 * 60 * 1000; // milliseconds

  // Return the options of the same page, opened now; nothing if that is another page meanwhile.
  const reopened = async (index, credentials) => {
    const answer = await fetch(location.href, { credentials, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page.querySelectorAll("[data-options]")[index];
    return part && JSON.parse(part.dataset.options);
  };

  // Offer passkeys among the names that the browser knows, if the form has a field for that.
  const offer = async (form, use) => {
    const field = form.querySelector("[autocomplete~=webauthn]");
    if (field && (await PublicKeyCredential.isConditionalMediationAvailable?.())) {
      const again = () => {
        use({ mediation: "conditional" }).catch(() => {}); // another way was chosen
        setTimeout(again, lasts);
      };
      again();
    }
  };

  const prepare = (part, index) => {
    let { origin, ...options } = JSON.parse(part.dataset.options);
    let madeAt = Date.now();
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
    const { form } = button;
    const credential = part.querySelector("[name=credential]");
    let asked = new AbortController();
    let isBusy = false;
    const renew = async (credentials) => {
      if (Date.now() - madeAt < lasts) return;
      const fresh = await reopened(index, credentials);
      if (fresh && !fresh.user === !options.user) {
        ({ origin, ...options } = fresh);
        madeAt = Date.now();
      }
    };
    // A new passkey has the name of its account, for which a page can have a field.
    const named = () => form.elements.email?.value.trim();
    const nameUser = (name) => {
      if (options.user && name) {
        options.user = { ...options.user, name, displayName: name };
      }
    };
    const hasValidFields = () =>
      [...form.elements].every((each) => each.type === "password" || each.reportValidity());
    const use = async (further) => {
      const isOffer = Boolean(further);
      if (isOffer && isBusy) return;
      asked.abort(); // the browser asks one question at a time
      asked = new AbortController();
      const { signal } = asked;
      // An offer is no use of a session, which another tab can have begun.
      await renew(isOffer ? "omit" : "same-origin");
      const name = named();
      nameUser(name);
      const answer = await ask(options, { signal, ...further });
      if (named() !== name) throw new Error("the passkey is for another name");
      credential.value = write(answer);
      credential.form.submit();
      credential.value = ""; // after Back, a code is sent without it
    };
    form.addEventListener("submit", async (event) => {
      if (event.submitter !== button) {
        return;
      }
      event.preventDefault();
      if (isBusy || (options.user && !hasValidFields())) {
        return;
      }
      isBusy = true;
      let error = "";
      try {
        await use();
      } catch (problem) {
        error = problem.name === "InvalidStateError" ? "known" : "failed";
      }
      for (const each of messages) {
        each.hidden = each.dataset.error !== error;
      }
      isBusy = false;
    });
    offer(form, use);
    button.disabled = false;
    part.hidden = false;
    if ("focused" in button.dataset) {
      button.focus(); // `autofocus` may find it still hidden
    }
  };

  document.querySelectorAll("[data-options]").forEach(prepare);

  // Remove a passkey that was made in vain, where the browser can (level 3, section 5.1.10).
  for (const each of document.querySelectorAll("[data-unknown]")) {
    const forget = window.PublicKeyCredential?.signalUnknownCredential;
    forget?.call(PublicKeyCredential, JSON.parse(each.dataset.unknown)).then(
      () => (each.hidden = true),
      () => {},
    );
  }
})();
