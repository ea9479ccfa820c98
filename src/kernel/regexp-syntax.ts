/** A named group's begin, or what is none: an escaped character, or an assertion about what is before. */
const namedGroup = /\\.|\(\?<(?![=!])/gs;
/** A class of Unicode characters, or another escaped character. */
const escaped = /\\(?:[pP]\{([\w=]{1,64})\}|.)/gs;
/** This many names of such classes are known at once; there are some 700. */
const knownClassesMax = 1_000;
const knownClasses = new Map<string, boolean>();

/** Returns at least the number of a pattern's named groups. */
export function namedGroupsOf(pattern: string): number {
  let groups = 0;
  for (const [found] of pattern.matchAll(namedGroup)) if (found === "(?<") groups += 1;
  return groups;
}

/**
 * Returns whether a text is a regular expression, with Unicode or without. It is to be bounded before: in its
 * length and in its named groups. Classes such as `\p{L}` are looked up apart, because V8 puts each together
 * when it compiles them (0.1 s for 400).
 */
export function isRegExp(pattern: string): boolean {
  return compiles(pattern, "") || compilesWithUnicode(pattern);
}

function compilesWithUnicode(pattern: string): boolean {
  let known = true;
  const plain = pattern.replace(escaped, (found: string, name?: string) => {
    if (name === undefined) return found;
    known &&= isClass(name);
    return "\\d";
  });
  return known && compiles(plain, "u");
}

function isClass(name: string): boolean {
  let known = knownClasses.get(name);
  if (known === undefined) {
    known = compiles(`\\p{${name}}`, "u");
    if (knownClasses.size >= knownClassesMax) knownClasses.clear();
    knownClasses.set(name, known);
  }
  return known;
}

function compiles(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags) !== null;
  } catch {
    return false;
  }
}
