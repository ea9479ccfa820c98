/** HTML's names for characters that models write; others stay as they are. */
const named: Readonly<Record<string, string>> = {
  ...{
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: "\u00A0",
    shy: "\u00AD",
    ensp: "\u2002",
    emsp: "\u2003",
  },
  ...{ hellip: "…", mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", sbquo: "‚", bdquo: "„" },
  ...{
    laquo: "«",
    raquo: "»",
    bull: "•",
    middot: "·",
    copy: "©",
    reg: "®",
    trade: "™",
    deg: "°",
    sect: "§",
    para: "¶",
  },
  ...{ euro: "€", pound: "£", yen: "¥", cent: "¢", times: "×", divide: "÷", plusmn: "±", minus: "−", ne: "≠", le: "≤" },
  ...{ ge: "≥", infin: "∞", rarr: "→", larr: "←", uarr: "↑", darr: "↓", harr: "↔", rArr: "⇒", check: "✓", micro: "µ" },
};

/** Returns a text of Markdown with its character references as characters, each decoded once: `&amp;lt;` is `&lt;`. */
export function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g, (found, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(named, name) ? (named[name] as string) : found;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : "\uFFFD";
  });
}
