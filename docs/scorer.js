// The order of the site's search. Sphinx finds pages by their text, and sections only if the query
// is most of their title. This leads to the section of a found page whose title has each word.
const wordsOf = (text) => {
  const stemmer = new Stemmer();
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return words.filter((word) => word && !stopwords.has(word)).map((word) => stemmer.stemWord(word));
};

// Below the pages for users: what they look up, only between equals; and what reviewers and
// developers read.
const WEIGHTS = {
  "docs/endpoints": -1, "docs/command-line": -1, "docs/reference": -1,
  "docs/architecture": -20, "docs/asvs": -20, "docs/concurrency": -20, "docs/security": -3,
  "docs/scaling": -3, CHANGELOG: -20, CONTRIBUTING: -20,
};
const SETTING = 9; // the share of the section whose setting is the query, in the same case

const typed = () => (new URLSearchParams(window.location.search).get("q") ?? "").trim();

const sectionFor = (page, query) => {
  const { docnames, titles, alltitles } = Search._index;
  const file = docnames.indexOf(page);
  const found = Object.entries(alltitles).flatMap(([title, places]) => {
    const words = new Set(wordsOf(title));
    const place = places.find(([number]) => number === file);
    if (!place || !query.every((word) => words.has(word))) return [];
    const isPage = titles[file] === title;
    const isSetting = page === "docs/settings" && title === typed();
    const share = isSetting ? SETTING : query.length / words.size + (isPage ? 1 : 0);
    const anchor = isPage || place[1] === null ? "" : `#${place[1]}`;
    return [{ share, anchor, title: isPage ? title : `${titles[file]} > ${title}` }];
  });
  return found.sort((one, other) => other.share - one.share)[0];
};

// The title of the section that an entry of the index leads to.
const titleAt = (page, title, anchor) => {
  const { docnames, alltitles } = Search._index;
  const file = docnames.indexOf(page);
  const isThere = ([number, id]) => number === file && `#${id}` === anchor;
  const entry = Object.entries(alltitles).find(([, places]) => places.some(isThere));
  return entry && entry[0] !== title ? `${title} > ${entry[0]}` : title;
};

var Scorer = {
  score: (result) => {
    const [page, title, anchor, , score, , kind] = result;
    const query = wordsOf(typed());
    const weight = WEIGHTS[page] ?? 0;
    if (kind === "index") {
      result[1] = titleAt(page, title, anchor);
      if (score !== 100) return score / 10;
      return page === "docs/command-line" ? score - 1 : score; // a command, or a subject before it
    }
    if (kind === "object") return score + weight - title.split(".").length;
    const section = kind === "text" && sectionFor(page, query);
    if (!section) return score + weight;
    [result[1], result[2]] = [section.title, section.anchor];
    return 20 + 10 * section.share + weight;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
