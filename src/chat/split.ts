/** An opening fence line is repeated at the start of the next part; of a longer line, only its marker. */
const fenceLineUnitsMax = 40;
/** A fence's marker is repeated up to this length. */
const fenceMarkerUnitsMax = 8;
/** A cut at a paragraph, line or word is used when the part is at least this full. */
const fillMin = 0.5;

/**
 * Cuts Markdown into parts that fit a platform's message, at paragraphs, lines or
 * words where there are any. A code block that is cut is closed, and opened again in
 * the next part. `fits` tells whether a part is small enough when it is rendered.
 * The same text is always cut the same way; a text that fits is returned as it is.
 */
export async function splitMarkdown(
  text: string,
  unitsMax: number,
  fits: (part: string) => Promise<boolean>,
): Promise<string[]> {
  for (let units = unitsMax; ; units = Math.floor(units / 2)) {
    const parts = cut(text, units);
    if (units <= fenceLineUnitsMax * 2 || (await allFit(parts, fits))) return parts;
  }
}

async function allFit(parts: readonly string[], fits: (part: string) => Promise<boolean>): Promise<boolean> {
  for (const part of parts) if (!(await fits(part))) return false;
  return true;
}

function cut(text: string, unitsMax: number): string[] {
  const parts: string[] = [];
  let rest = text.trim();
  let fence: Fence | null = null;
  while (rest !== "") {
    const head: string = fence === null ? "" : `${fence.line}\n`;
    if (head.length + rest.length <= unitsMax) return [...parts, head + rest];
    let at = cutPlace(rest, unitsMax - head.length);
    // A cut inside a code block is moved, to leave room for the line that closes the block.
    if (openFence(head + rest.slice(0, at)) !== null)
      at = cutPlace(rest, unitsMax - head.length - fenceMarkerUnitsMax - 1);
    const piece: string = head + rest.slice(0, at).trimEnd();
    fence = openFence(piece);
    parts.push(fence === null ? piece : `${piece}\n${fence.marker}`);
    rest = rest.slice(at).replace(fence === null ? /^\s+/ : /^\n/, "");
  }
  return parts;
}

function cutPlace(text: string, unitsMax: number): number {
  const atMin = Math.floor(unitsMax * fillMin);
  for (const gap of ["\n\n", "\n", " "]) {
    const at = text.lastIndexOf(gap, unitsMax);
    if (at >= atMin) return at;
  }
  // Not between the halves of a surrogate pair.
  const code = text.charCodeAt(unitsMax - 1);
  return code >= 0xd800 && code <= 0xdbff ? unitsMax - 1 : unitsMax;
}

interface Fence {
  readonly marker: string;
  readonly line: string;
}

/** Returns the code block that is still open at the end of a text; null when there is none. */
function openFence(text: string): Fence | null {
  return text.split("\n").reduce(fenceAfter, null);
}

/** Returns the code block that is open after one more line. */
function fenceAfter(open: Fence | null, line: string): Fence | null {
  const [, marker, info = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  // Behind backticks no further ones can stand: that line is code within a paragraph.
  if (marker === undefined || (marker.startsWith("`") && info.includes("`"))) return open;
  if (open === null) {
    const short = marker.slice(0, fenceMarkerUnitsMax);
    return { marker: short, line: line.length > fenceLineUnitsMax ? short : line };
  }
  return info.trim() === "" && marker.startsWith(open.marker) ? null : open;
}

/** Returns a text without the lines of its code blocks. */
export function outsideCode(text: string): string {
  let open: Fence | null = null;
  const lines = text.split("\n").filter((line) => {
    const before = open;
    open = fenceAfter(open, line);
    return before === null && open === null;
  });
  return lines.join("\n");
}

/**
 * Cuts Markdown at blank lines outside of code blocks into sections of at most
 * `unitsMax` UTF-16 units. A part without such lines stays one section, however long.
 */
export function sectionsOf(text: string, unitsMax: number): string[] {
  if (text.length <= unitsMax) return [text];
  const sections: string[] = [];
  let section = "";
  for (const paragraph of paragraphsOf(text)) {
    if (section !== "" && section.length + paragraph.length + 2 > unitsMax) {
      sections.push(section);
      section = "";
    }
    section += section === "" ? paragraph : `\n\n${paragraph}`;
  }
  return section === "" ? sections : [...sections, section];
}

function paragraphsOf(text: string): string[] {
  const paragraphs: string[][] = [[]];
  let open: Fence | null = null;
  for (const line of text.split("\n")) {
    open = fenceAfter(open, line);
    if (line.trim() === "" && open === null) paragraphs.push([]);
    else paragraphs.at(-1)?.push(line);
  }
  return paragraphs.filter((lines) => lines.length > 0).map((lines) => lines.join("\n"));
}
