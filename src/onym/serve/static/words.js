// Texts for the codes in replies.

const REASONS = {
  "same-name": (text) => `The text is the name “${text}”.`,
  "similar-name": (text, value) => `The most similar name is “${text}” (similarity ${value.toFixed(2)}).`,
  "model-name": (text, value) => `The model found the name “${text}” (score ${value.toFixed(2)}).`,
  "other-name": (text, value) => `Another name is similar: “${text}” (similarity ${value.toFixed(2)}).`,
  memory: (text, value) => `In annotated documents, “${text}” has this concept ${value.toFixed(0)} times.`,
  "similar-mention": (text, value) =>
    `In annotated documents, the similar mention “${text}” has this concept (similarity ${value.toFixed(2)}).`,
};
const UNLINKED = {
  "no-candidate": "no name of the knowledge base matches",
  "below-threshold": "the score is below the minimum",
  "below-precision": "the confidence is below what the target precision needs",
  "filtered-out": "the best concept is excluded by the filter",
  corrected: "a correction says that it has no concept",
  "too-long": "the term has more than 1,000 characters",
};

const MOST_PARENTS = 3;

export function reasonText({ kind, text, value }) {
  return Object.hasOwn(REASONS, kind) ? REASONS[kind](text, value) : `${kind}: ${text}`;
}

export function unlinkedText(reason) {
  return Object.hasOwn(UNLINKED, reason) ? UNLINKED[reason] : String(reason ?? "unknown reason");
}

// Returns a label and the names of a concept's parents; if it has none, of the headings that it is mapped to; else null.
export function parentNames(parents = []) {
  const [above, headings] = [false, true].map((isMapped) =>
    [...new Map(parents.filter((each) => (each.kind === "mapped to") === isMapped).map((each) => [each.id, each.name])).values()],
  );
  const names = above.length ? above : headings;
  const more = names.length > MOST_PARENTS ? `; and ${names.length - MOST_PARENTS} more` : "";
  return names.length ? [above.length ? "Parents" : "Mapped to", names.slice(0, MOST_PARENTS).join("; ") + more] : null;
}

// The assertion marks of a link, such as "negated", for readers; empty if there are none.
export const marksText = (link) => (link.assertion ?? "").replaceAll(",", ", ");

export const isNegated = (link) => (link.assertion ?? "").split(",").includes("negated");

export const typeName = (type) => type || "no type";
