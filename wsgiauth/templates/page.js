// What makes every page easier to use. Without this script, all of it works as well.
(() => {
  "use strict";

  const all = (selector) => document.querySelectorAll(selector);

  // Light or dark, as the reader chooses: what the page has for either follows the choice.
  const SCHEME = /\(prefers-color-scheme: *(dark|light)\)/g;
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const switcher = document.querySelector("[data-scheme]");
  const inside = (rules) => [...rules].flatMap((each) => [each, ...inside(each.cssRules ?? [])]);
  const rules = [...document.styleSheets].flatMap((sheet) => {
    try {
      return inside(sheet.cssRules);
    } catch {
      return []; // of another origin
    }
  });
  const conditional = [...rules, ...all("[media]")].filter((each) => each.media);
  const conditions = new Map(
    conditional
      .map((each) => [each, each.media.mediaText ?? each.media])
      .filter(([, condition]) => condition.match(SCHEME)),
  );
  const paint = (chosen) => {
    const answer = (_, scheme) => (scheme === chosen ? "(min-width: 0)" : "(max-width: 0)");
    for (const [each, condition] of conditions) {
      const media = chosen ? condition.replace(SCHEME, answer) : condition;
      if (typeof each.media === "string") each.media = media;
      else each.media.mediaText = media;
    }
    document.documentElement.style.colorScheme = chosen ?? "";
    const { dataset } = switcher;
    switcher.textContent = (chosen ? chosen === "dark" : isDark.matches) ? dataset.light : dataset.dark;
  };
  if (switcher) {
    let chosen;
    try {
      chosen = localStorage.getItem("wsgiauth-scheme") ?? undefined;
    } catch {} // storage can be off
    paint(chosen);
    switcher.hidden = false;
    isDark.addEventListener("change", () => paint(chosen));
    switcher.addEventListener("click", () => {
      const other = switcher.textContent === switcher.dataset.dark ? "dark" : "light";
      const isUsual = isDark.matches === (other === "dark");
      chosen = isUsual ? undefined : other;
      try {
        if (isUsual) localStorage.removeItem("wsgiauth-scheme");
        else localStorage.setItem("wsgiauth-scheme", other);
      } catch {}
      paint(chosen);
    });
  }

  // Times are in UTC. Show them in the reader's time zone, and those of this month by distance, but
  // not to the staff, who compare them: a title is seen by neither a finger nor a keyboard.
  const { lang } = document.documentElement;
  // As the server writes them: by the 24-hour clock, with the same digits in every language.
  const locale = new Intl.Locale(lang === "en" ? "en-GB" : lang, { numberingSystem: "latn" });
  const long = { day: "numeric", month: "long", year: "numeric" };
  const zoned = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
  const clock = new Intl.DateTimeFormat(locale, { ...long, ...zoned });
  const short = new Intl.DateTimeFormat(locale, { ...long, month: "short", ...zoned });
  const distance = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  const units = { minute: 60, hour: 3600, day: 86400 }; // seconds
  const isForStaff = document.body.classList.contains("panel");
  for (const time of all("time[datetime*=T]")) {
    const at = new Date(time.dateTime);
    const seconds = (at - Date.now()) / 1000;
    const passed = Math.abs(seconds) + 30;
    const unit = Object.keys(units).findLast((each) => passed >= units[each]);
    time.title = clock.format(at);
    time.textContent =
      isForStaff || passed > 30 * units.day
        ? ("short" in time.dataset ? short : clock).format(at)
        : distance.format(...(unit ? [Math.round(seconds / units[unit]), unit] : [0, "second"]));
  }

  // Count down how long to wait, and say once that it is over.
  for (const wait of all("[data-wait]")) {
    const { again, over } = wait.dataset;
    const until = Date.now() + 1000 * wait.dataset.wait;
    const status = document.createElement("span");
    status.setAttribute("role", "status");
    wait.after(status);
    const timer = setInterval(() => {
      wait.closest("[role=alert]")?.removeAttribute("role"); // it was read out, once
      const left = Math.ceil((until - Date.now()) / 1000);
      const when = left < 120 ? [left, "second"] : [Math.ceil(left / 60), "minute"];
      wait.textContent = left > 0 ? again.replace("{}", distance.format(...when)) : "";
      if (left > 0) return;
      status.textContent = over;
      clearInterval(timer);
    }, 1000);
  }

  // Back to a form, where browsers keep what was typed.
  for (const back of history.length > 1 ? all("[data-back]") : []) {
    back.hidden = false;
    back.addEventListener("click", (event) => {
      event.preventDefault();
      history.back();
    });
  }

  // Offer once to log in with this device, if it can verify its user.
  const device = document.querySelector("[data-device]");
  const offer = async () => {
    const isAble = await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable();
    const isOffered = device.dataset.device !== "new" && localStorage.getItem("wsgiauth-device");
    if (!isAble || isOffered) return;
    localStorage.setItem("wsgiauth-device", "offered");
    device.hidden = false;
  };
  if (device && window.PublicKeyCredential) offer().catch(() => {}); // storage can be off

  // Bring an answer to another app: see `form_post.html`.
  document.querySelector("form[data-send]")?.submit();

  // Let people go on where they stopped: browsers put the caret before the text.
  for (const input of all("input[autofocus]:not([type=checkbox])")) {
    const { value } = input;
    input.value = "";
    input.value = value;
    if (input.dataset.proposal) input.setSelectionRange(0, value.length); // typing replaces it
  }

  // The browser has kept the fragment of the page that asked for a login: give it to the way back.
  const { hash } = location;
  if (hash && !document.getElementById(hash.slice(1))) {
    for (const input of all("form[method=post] input[name=next]")) {
      if (input.value && !input.value.includes("#")) input.value += hash;
    }
    for (const link of all("a[href*='next=']")) link.hash = hash;
  }

  // Say what is wrong with a field in the language of the page, not in that of the browser.
  const words = document.querySelector("main")?.dataset ?? {};
  const missing = { checkbox: words.tick, "select-one": words.choose };
  const problem = ({ validity, type, dataset }) =>
    validity.valueMissing
      ? missing[type] || words.missing
      : !validity.valid && (dataset.invalid || words[type]);
  document.addEventListener(
    "invalid",
    ({ target }) => {
      target.setCustomValidity("");
      target.setCustomValidity(problem(target) || "");
      target.closest("details")?.setAttribute("open", "");
    },
    true,
  );
  for (const each of ["input", "change"]) {
    document.addEventListener(each, ({ target }) => target.setCustomValidity?.(""));
  }

  // Show what is typed. It is hidden again before it is sent, because browsers remember the text
  // of other fields.
  for (const button of all("[data-shows]")) {
    const input = document.getElementById(button.dataset.shows);
    const { show, hide } = button.dataset;
    const toggle = (isShown) => {
      input.type = isShown ? "text" : "password";
      button.textContent = isShown ? hide : show;
    };
    button.addEventListener("click", () => toggle(input.type === "password"));
    input.form.addEventListener("submit", () => toggle(false));
    button.hidden = false;
  }

  // The rules of `guessing.patterns` and of `accounts.passwords` that need no list.
  const unitOf = (text) => {
    for (let period = 1; period <= (text.length + 1) / 2; period++) {
      if (text.slice(period) === text.slice(0, -period)) {
        return text.slice(0, period);
      }
    }
    return text;
  };

  const lengthWithoutRuns = (text, runs) => {
    const isRun = (part) => part === part[0].repeat(part.length) || runs.includes(part);
    let length = 0;
    for (let start = 0; start < text.length; length++) {
      let end = start + 3;
      if (end > text.length || !isRun(text.slice(start, end))) {
        end = start + 1;
      } else {
        while (end < text.length && isRun(text.slice(start, end + 1))) end++;
      }
      start = end;
    }
    return length;
  };

  const key = (text) => text.normalize("NFKC").toLowerCase();
  const core = (text) => key(text).replace(/^\P{L}+|\P{L}+$/gu, "") || key(text);

  const strength = (password, { shortest, runs }, names) => {
    const unit = unitOf(key(password));
    if ([...password.normalize("NFC")].length < shortest) return "short";
    if (names.some((each) => core(password) === core(each))) return "similar";
    if (unit.length < 8) return "repeated";
    if (lengthWithoutRuns(unit, runs) <= Math.min(Math.floor(unit.length / 3), 11)) return "runs";
    return unit.length < 15 ? "fine" : "strong";
  };

  const levels = { short: 1, similar: 2, repeated: 2, runs: 2, fine: 3, strong: 4 };
  for (const hint of all("[data-strength-of]")) {
    const input = document.getElementById(hint.dataset.strengthOf);
    const rules = JSON.parse(hint.dataset.rules);
    const fields = ["username", "email"].map((each) => input.form.elements[each]).filter(Boolean);
    const say = () => {
      const names = fields.flatMap(({ value }) => [value, value.split("@")[0]]).filter(Boolean);
      const found = input.value && strength(input.value, rules, names);
      hint.textContent = found && hint.dataset[found];
      hint.dataset.level = levels[found] ?? "";
      document.getElementById(`${input.id}-error`)?.remove(); // about what was sent before
    };
    [input, ...fields].forEach((each) => each.addEventListener("input", say));
  }

  // Send a code as soon as it is complete, also within the text around it, as the server reads it.
  const codes = ({ value, dataset }) =>
    (value.normalize("NFKC").match(/\p{Nd}+(?:[ -]+\p{Nd}+)*/gu) ?? [])
      .map((each) => [...each.replace(/[ -]/g, "")].length)
      .filter((length) => length === Number(dataset.digits)).length;
  for (const input of all("[data-sends]")) {
    let wasComplete = codes(input) === 1;
    let isSent = false;
    document.getElementById(`${input.id}-hint`).textContent = input.dataset.sends;
    input.addEventListener("input", ({ isComposing }) => {
      const isComplete = codes(input) === 1;
      if (isComplete && !wasComplete && !isSent && !isComposing) {
        isSent = true;
        input.form.querySelector("[type=submit]").click();
      }
      wasComplete = isComplete;
    });
  }

  // Let people wait until they can ask for another email.
  for (const button of all("[data-pause]")) {
    const text = button.textContent;
    const unit = { style: "unit", unit: "second" };
    const written = new Intl.NumberFormat(locale, unit);
    const until = Date.now() + 1000 * Number(button.dataset.pause);
    const count = () => {
      const left = Math.ceil((until - Date.now()) / 1000);
      button.disabled = left > 0;
      button.textContent = button.disabled ? `${text} (${written.format(left)})` : text;
      if (button.disabled) setTimeout(count, 1000);
    };
    count();
  }

  // Mark the way to log in that was used last in this browser.
  const login = document.querySelector("form[data-last]");
  if (login) {
    const ways = [...login.querySelectorAll("[data-way]")];
    let way;
    try {
      const last = ways.find((each) => each.dataset.way === localStorage.getItem("wsgiauth-way"));
      if (last && ways.length > 1) last.dataset.last = login.dataset.last;
    } catch {} // storage can be off
    login.addEventListener("submit", ({ submitter }) => {
      way = submitter?.dataset.way;
    });
    login.addEventListener("formdata", ({ formData }) => {
      const used = formData.get("credential") ? "passkey" : (way ?? login.dataset.way);
      try {
        localStorage.setItem("wsgiauth-way", used);
      } catch {}
    });
  }

  // What is shown only once is the answer to a form. A reload must not send that again, and Back
  // must not ask whether to. WebKit sends it all the same: see `sent` below.
  if (document.querySelector("[data-shown-once]")) {
    history.replaceState(null, "", location.href);
  }

  // Nor must they send a refused form again. Its page is opened with the same query as before, but
  // for that of a link, whose secret is in no history.
  if ("refused" in document.body.dataset && !document.querySelector("[name=token]")) {
    const url = new URL(location.href);
    const names = ["next", "action", "users", "key", "permission", "group", "list"];
    for (const { name, value } of all("main input[type=hidden]")) {
      if (names.includes(name) && value && !url.searchParams.getAll(name).includes(value)) {
        url.searchParams.append(name, value);
      }
    }
    history.replaceState(null, "", url);
  }

  const source = (button) => document.getElementById(button.dataset.of);
  const shown = (button) => source(button).innerText.trim();
  const actions = {
    copy: async (button) => {
      getSelection().selectAllChildren(source(button)); // to copy by hand if it is not permitted
      await navigator.clipboard.writeText(shown(button));
      button.textContent = button.dataset.done;
    },
    download: (button) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([shown(button)], { type: "text/plain" }));
      link.download = button.dataset.file;
      link.click();
      URL.revokeObjectURL(link.href);
    },
    print: () => print(),
  };
  for (const button of all("[data-action]")) {
    const { action } = button.dataset;
    button.addEventListener("click", () => actions[action](button));
    button.hidden = action === "copy" && !navigator.clipboard;
  }

  // Choose all that can be chosen, or none. What was chosen is still there after going back.
  for (const every of all("[data-chooses]")) {
    const boxes = [...all(`[name="${every.dataset.chooses}"]`)];
    const update = () => {
      every.checked = boxes.every((each) => each.checked);
      every.indeterminate = !every.checked && boxes.some((each) => each.checked);
    };
    every.addEventListener("change", () => {
      boxes.forEach((each) => (each.checked = every.checked));
    });
    boxes.forEach((each) => each.addEventListener("change", update));
    addEventListener("pageshow", update);
    every.parentElement.hidden = false;
  }

  // The server knows a form that it has answered before by a number, which each sending has anew.
  document.addEventListener("formdata", ({ target, formData }) => {
    if (target.method !== "post") return;
    const [first, second] = crypto.getRandomValues(new Uint32Array(2));
    formData.set("sent", first.toString(36).padStart(7, "0") + second.toString(36));
  });

  // A second click sends nothing more, unless the first one got no answer for a while.
  const sent = new Map();
  document.addEventListener("submit", (event) => {
    if (event.timeStamp - sent.get(event.target) < 10000) {
      event.preventDefault(); // for ten seconds
    } else if (!event.defaultPrevented) {
      sent.set(event.target, event.timeStamp);
    }
  });
  addEventListener("pageshow", () => sent.clear());
})();
