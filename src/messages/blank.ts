/** White space, control characters, and what is never drawn, such as U+200B and U+3164. U+2800 is a pattern without dots. */
const unseen = /[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\u2800]/u;

/** By UTF-16 unit, whether it is unseen. */
let table: Uint8Array | null = null;

function unseenUnits(): Uint8Array {
  const units = new Uint8Array(0x10000);
  for (let unit = 0; unit < units.length; unit++) units[unit] = unseen.test(String.fromCharCode(unit)) ? 1 : 0;
  // U+E0000 to U+E0FFF, tags and variation selectors, are unseen as a whole: these halves have them alone.
  units.fill(1, 0xdb40, 0xdb44);
  return units;
}

/** Returns whether a text says nothing. Vendors of models refuse such a text, and a person sees none. */
export function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  // Most texts begin with a letter.
  if (first > 0x20 && first < 0x7f) return false;
  const rest = text.trimStart();
  if (rest === "") return true;
  table ??= unseenUnits();
  const units = table;
  for (let at = 0; at < rest.length; at++) {
    const unit = rest.charCodeAt(at);
    if (units[unit] === 0) return false;
    if (unit >= 0xdb40 && unit < 0xdb44) at += 1;
  }
  return true;
}
