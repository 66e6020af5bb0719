// The site's search, in place of that of Sphinx, which demands that a page has every word. This
// looks for each word, or one that means the same, in the titles of sections, in their keywords
// (see `KEYWORDS` in conf.py) and in the text of pages. Rare words count more than common ones.
const stemsOf = (text) => {
  const stemmer = new Stemmer();
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const known = words.filter((word) => !stopwords.has(word) && !IDLE.has(word));
  return (known.length ? known : words).map((word) => stemmer.stemWord(word));
};
const IDLE = new Set("add can do does get how make set use using want work".split(" "));

// Words that stand for each other, a group a line.
const ALIKE = `
  login signin sign log authenticate authentication
  logout signout log
  register registration signup sign
  delete remove erase
  revoke end invalidate
  protect guard restrict require secure
  password passphrase
  forgot forget reset lost recover
  2fa mfa two factor totp otp second authenticator
  passkey webauthn fido fido2 yubikey face touch biometric fingerprint
  sso oidc openid oauth social federated
  mail email smtp
  admin administrator superuser staff
  role group
  ban block deactivate disable suspend lock
  view page route url endpoint path
  field attribute column
  hook callback event signal
  audit history trail log
  code python programmatically api
  test testing pytest unittest mock
  style css theme look color colour brand
  template html page replace override customize customise
  translate translation language locale i18n italian
  spa react vue angular svelte javascript frontend
  mobile android ios app
  cli terminal command
  token jwt bearer
  cron job script program machine
  nginx proxy caddy traefik
  docker container kubernetes podman compose
  deploy deployment production host hosting
  unit systemd service
  backup restore dump
  standby failover replica replication cluster ha
  speed performance fast latency throughput capacity benchmark second
  throttle limit rate attempt brute
  gdpr privacy personal export
  upgrade update version release
  database sqlite postgres postgresql mysql mariadb
  remember stay trust trusted keep
  device browser
  expire expiry timeout lifetime long early
  owasp asvs compliance
  vulnerability security report disclose
  confirm confirmation verify verification
  length duration lifetime long lasts
  strong strength policy
  okta keycloak auth0 gitlab provider
  semver version compatibility stable
  license licence
  plugin extension feature
  connector mcp
  claims scope
`.trim().split("\n").map((line) => stemsOf(line));

const alike = (stem) => new Set(ALIKE.filter((each) => each.includes(stem)).flat());

// How well a word of the query is in a set of stems: as it is, as the beginning of a word or of it,
// or by a word that means the same.
const found = ({ stem, others }, stems) => {
  if (stems.has(stem)) return 1;
  for (const each of stems) {
    const [short, long] = each.length < stem.length ? [each, stem] : [stem, each];
    if (short.length > 4 && long.startsWith(short)) return 0.8;
  }
  for (const each of others) if (stems.has(each)) return 0.6;
  return 0;
};

// Below the pages for users: those to look things up, and those for reviewers and developers.
const WEIGHTS = {
  "docs/endpoints": -0.1, "docs/reference": -0.05, "docs/command-line": -0.05, "docs/settings": -0.2, "docs/security": -0.15, "docs/promises": -0.15,
  "docs/asvs": -0.2, "docs/architecture": -0.2, "docs/concurrency": -0.3, CHANGELOG: -0.3, CONTRIBUTING: -0.3,
};

const listed = (value) => (value === undefined ? [] : [value].flat());
let places;

// Each section with its title, its keywords and its page; made once.
const makePlaces = () => {
  const { docnames, titles, alltitles, indexentries } = Search._index;
  const made = new Map();
  const placeOf = (file, id) => {
    const page = docnames[file];
    const anchor = id ? `#${id}` : "";
    const name = page + anchor;
    if (!made.has(name)) made.set(name, { file, page, anchor, title: titles[file], phrases: [] });
    return made.get(name);
  };
  titles.forEach((title, file) => placeOf(file, "").phrases.push(title));
  for (const [title, all] of Object.entries(alltitles)) {
    for (const [file, id] of all) {
      if (titles[file] === title || id === null) continue;
      const place = placeOf(file, id);
      place.title = `${titles[file]} > ${title}`;
      place.phrases.unshift(title);
    }
  }
  for (const [entry, all] of Object.entries(indexentries)) {
    for (const [file, id] of all) placeOf(file, id).phrases.push(entry);
  }
  for (const place of made.values()) {
    place.sets = place.phrases.map((each) => new Set(stemsOf(each)));
    place.top = made.get(place.page);
  }
  return [...made.values()];
};

// The files with a word, or with one that means the same, each with how well it has it.
const filesWith = ({ stem, others }) => {
  const { terms, titleterms } = Search._index;
  const files = new Map();
  const add = (word, share) => {
    for (const index of [terms, titleterms]) {
      if (!Object.hasOwn(index, word)) continue;
      for (const file of listed(index[word])) files.set(file, Math.max(share, files.get(file) ?? 0));
    }
  };
  add(stem, 1);
  others.forEach((each) => add(each, 0.5));
  if (!files.size && stem.length > 3) {
    Object.keys(terms).filter((each) => each.startsWith(stem)).forEach((each) => add(each, 0.7));
  }
  return files;
};

const rank = (query) => {
  places ??= makePlaces();
  const { docnames, filenames } = Search._index;
  const words = [...new Set(stemsOf(query))].map((stem) => ({ stem, others: alike(stem) }));
  for (const word of words) {
    word.files = filesWith(word);
    const exact = listed(Search._index.terms[word.stem]).length || word.files.size;
    word.worth = Math.log(1 + docnames.length / (1 + exact));
  }
  const total = words.reduce((sum, { worth }) => sum + worth, 0) || 1;
  const scored = places.map((place) => {
    let cover = 0;
    const best = (sets, word) => Math.max(0, ...sets.map((each) => found(word, each)));
    for (const word of words) {
      const here = best(place.sets, word);
      const above = place === place.top ? 0 : 0.5 * best(place.top.sets, word);
      cover += word.worth * Math.max(here, above, 0.3 * (word.files.get(place.file) ?? 0));
    }
    const fit = Math.max(...place.sets.map((stems) => {
      const hits = [...stems].filter((each) => words.some((word) => word.stem === each)).length;
      const asked = words.filter(({ stem }) => stems.has(stem)).length;
      return (hits / stems.size) * (asked / words.length);
    }));
    const isName = place.phrases.includes(query); // of a setting or a command, in the same case
    const isSetting = isName && place.page === "docs/settings";
    const isPage = place === place.top ? 0.02 : 0;
    return { place, score: cover / total + 0.4 * fit + isName + isSetting + isPage + (WEIGHTS[place.page] ?? 0) };
  });
  const results = scored
    .filter(({ score }) => score > 0.25)
    .map(({ place, score }) =>
      [place.page, place.title, place.anchor, null, score, filenames[place.file], SearchResultKind.title]);
  const names = new Set(splitQuery(query.toLowerCase()));
  for (const name of names) {
    for (const result of Search.performObjectSearch(name, names)) {
      const isExact = result[1].toLowerCase().split(".").at(-1) === query.toLowerCase();
      const isModule = result[2].startsWith("#module-"); // which has a page of its own
      result[4] = isExact && !isModule ? 1.6 : 0.4;
      results.push(result);
    }
  }
  results.sort((one, other) => other[4] - one[4]);
  // The best section of each page first, the others after the first ten.
  const seen = new Set();
  const [first, later] = [[], []];
  for (const result of results) {
    const isNew = !seen.has(result[0]) && seen.add(result[0]);
    (isNew ? first : later).push(result);
  }
  return [...first.slice(0, 10), ...later, ...first.slice(10)];
};

Search._performSearch = (query) => rank(query.trim()).reverse();
