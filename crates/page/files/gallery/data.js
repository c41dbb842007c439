// How the gallery groups its exhibits, and what it calls what they lead to.

/** What a defect leads to, by the property that its run violates. */
export const LEADS = {
  "at-most-k-inside": "too many inside",
  "one-group-at-a-time": "two groups inside",
  "one-of-each-slot": "a slot held twice",
  "fences-rise": "a fence falls",
  "tokens-conserved": "tokens lost or doubled",
  "no-entry-without-request": "enters unasked",
  "no-double-entry": "enters twice",
  "one-place-per-request": "a request in two places",
  "nothing-impossible": "the impossible",
  "nobody-left-waiting": "waits for ever",
  "end-reachable": "cannot come to an end",
  dearer: "costs more messages",
};

export const leads = (name) => LEADS[name] ?? name;

export const TEXTS = {
  "000": "K-Mutual Exclusion in Decentralized Systems (Cairo University, 2020)",
  "001": "Bulgannawar, A Distributed K-Mutual Exclusion Algorithm (thesis, 1994)",
  "002": "Parihar and Chakraborty, A new resource sharing protocol (2023)",
  "003": "Bulgannawar and Vaidya, A Distributed K-Mutual Exclusion Algorithm (ICDCS 1995)",
  "004": "Swaroop and Singh, A Fault Tolerant Token-based Algorithm for Group Mutual Exclusion",
  cited: "Cited algorithms, as they are usually told",
  mutants: "Mutants: errors that no text makes, and that are easy to make",
};

export const group = (exhibit) => exhibit.text ?? (exhibit.mutant ? "mutants" : "cited");

export const exhibitPath = ({ algorithm, defect }) => `gallery/${encodeURIComponent(algorithm)}/${defect}`;
