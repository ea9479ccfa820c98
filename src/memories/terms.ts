/** A word is cut to this many characters, in texts and in searches: Postgres takes 2,046 bytes. */
const termCharactersMax = 100;
/** Of a script without spaces each place of a text is found by the letters that begin there, this many. */
const gramCharacters = 3;

/**
 * Scripts that are written without spaces between words. They are divided by letters
 * and not by `Intl.Segmenter`: its dictionaries differ between runtimes and their
 * versions, and what one process stored, another one has to find.
 */
const spaceless = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
const emoji = String.raw`\p{RI}\p{RI}|\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\u200D\p{Extended_Pictographic})*`;
/** An emoji; letters of such a script; or a word: letters, their marks, and digits. */
const wordPattern = new RegExp(
  `${emoji}|(?<run>[${spaceless}][${spaceless}\\p{M}]*)|[[\\p{L}\\p{M}\\p{N}]--[${spaceless}]]+`,
  "gv",
);

/**
 * Marks that are no part of a word: accents of scripts whose readers leave them out,
 * vowels of Hebrew and Arabic, dots of Indic letters, variation selectors, and the
 * stroke that only makes an Arabic word longer. Vowels of Indic and Thai stay.
 */
const looseMarks = new RegExp(
  `[${[
    "\\u0300-\\u036F\\u1AB0-\\u1AFF\\u1DC0-\\u1DFF\\u20D0-\\u20FF\\u0483-\\u0489",
    "\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u05C7",
    "\\u0610-\\u061A\\u0640\\u064B-\\u065F\\u0670\\u06D6-\\u06DC\\u06DF-\\u06E8\\u06EA-\\u06ED",
    "\\u093C\\u09BC\\u0A3C\\u0ABC\\u0B3C",
    "\\uFE00-\\uFE0F",
  ].join("")}]`,
  "gu",
);
/** More marks on one letter than any language has: putting them in order takes a time that grows with their square. */
const manyMarks = /(\p{M}{30})\p{M}+/gu;
/** What is not seen within a word: soft hyphens, joiners beside letters, marks of direction. A space of no width divides. */
const unseen =
  /\u034F|[\u00AD\u061C\u180E\u200C\u200E\u200F\u2060-\u2064\uFEFF]|(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier})\u200D/gu;
/** Latin letters that Unicode does not decompose, though people type them without their stroke. */
const strokes: Readonly<Record<string, string>> = { ł: "l", ø: "o", đ: "d", ħ: "h", ŧ: "t", æ: "ae", œ: "oe", ς: "σ" };
const stroked = /[łøđħŧæœς]/gu;
/** The Arabic article, also after "and", "in", "as", "for". */
const article = /^(?:[وفبك]?ال|لل)(?=\p{L}{2})/u;

/**
 * Returns the words of a text by which it is found: without regard to case (as Unicode
 * folds it: ß is ss), accents and compatibility forms. A search matches a word that
 * begins with its own.
 */
export function termsOf(text: string): string[] {
  const terms = new Set<string>();
  for (const [word, isRun] of wordsIn(text)) {
    const letters = [...word];
    if (isRun) for (const at of letters.keys()) terms.add(letters.slice(at, at + gramCharacters).join(""));
    else for (const form of formsOf(word)) terms.add(form);
  }
  return [...terms];
}

/** Returns a search as Postgres' `tsquery`: every word has to be in the text. Null when it has no words. */
export function searchQuery(search: string): string | null {
  const parts = new Set<string>();
  for (const [word, isRun] of wordsIn(search)) {
    const letters = [...word];
    const last = Math.max(0, letters.length - gramCharacters);
    if (isRun) for (let at = 0; at <= last; at++) parts.add(begins(letters.slice(at, at + gramCharacters).join("")));
    else parts.add(`(${formsOf(word).map(begins).join("|")})`);
  }
  return parts.size === 0 ? null : [...parts].join("&");
}

/** Words hold neither a quote nor a backslash. */
const begins = (word: string) => `'${word}':*`;

/** Returns a text with no more marks on one letter than any language has. It comes before every `normalize`. */
export function boundMarks(text: string): string {
  return text.replace(manyMarks, "$1");
}

/** Returns the words of a text, each once, and for each whether it is of a script without spaces. */
function wordsIn(text: string): Map<string, boolean> {
  const plain = boundMarks(text).normalize("NFKD").replace(looseMarks, "").replace(unseen, "");
  // Over capitals, because ß, ı and ﬀ become plain letters only there, and before that over small letters, because
  // the capital ẞ is none of two letters until then. Composed again, so that the begin of a
  // syllable of Hangul is not the begin of others, and が is no か.
  const folded = plain
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKD")
    .replace(looseMarks, "")
    .normalize("NFC");
  const simple = folded.replace(stroked, (letter) => strokes[letter] ?? letter);
  const words = new Map<string, boolean>();
  for (const { 0: word, groups } of simple.matchAll(wordPattern)) words.set(word, groups?.run !== undefined);
  return words;
}

/** Returns a word as it stands, and where it has the Arabic article, without it. */
function formsOf(word: string): string[] {
  const short = word.length <= termCharactersMax ? word : [...word].slice(0, termCharactersMax).join("");
  const bare = short.replace(article, "");
  return bare === short ? [short] : [short, bare];
}
