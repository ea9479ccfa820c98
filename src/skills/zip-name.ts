import { crc32 } from "node:zlib";
import type { ZipEntry } from "unzipit";
import { invalidArchive } from "./entry.ts";

/** The flag that says that a name is UTF-8. */
const utf8Flag = 0x800;
/** Info-ZIP's extra field with a name in UTF-8: a version, the checksum of the name beside it, the name. */
const unicodePathId = 0x7075;
/** Names without the flag are in the code page of MS-DOS, by the format's specification; these are its upper 128 characters. */
const codePage437 =
  "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** What the library reads of an entry and does not show. */
interface Raw {
  readonly generalPurposeBitFlag: number;
  readonly extraFields: readonly { readonly id: number; readonly data: Uint8Array }[];
}

/**
 * Returns the name of a zip's entry, with `/` also where a maker on Windows wrote `\`.
 * Throws 400 `skill_invalid_archive` for one that says it is UTF-8 and is not.
 */
export function zipEntryName(entry: ZipEntry): string {
  const { generalPurposeBitFlag, extraFields } = (entry as unknown as { _rawEntry: Raw })._rawEntry;
  const bytes = unicodePath(entry.nameBytes, extraFields) ?? entry.nameBytes;
  try {
    // Many makers write UTF-8 without saying so; a text of another code page is hardly ever valid UTF-8.
    return utf8.decode(bytes).replaceAll("\\", "/");
  } catch {
    const name = Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : codePage437[byte - 128])).join(
      "",
    );
    if ((generalPurposeBitFlag & utf8Flag) !== 0) throw invalidArchive("its name is not UTF-8, as it says", name);
    return name.replaceAll("\\", "/");
  }
}

function unicodePath(name: Uint8Array, extraFields: Raw["extraFields"]): Uint8Array | null {
  const data = extraFields.find(({ id }) => id === unicodePathId)?.data;
  if (data === undefined || data.byteLength < 6 || data[0] !== 1) return null;
  const sum = new DataView(data.buffer, data.byteOffset).getUint32(1, true);
  // The field is out of date when the name beside it was changed by a tool that does not know the field.
  return sum === crc32(name) ? data.subarray(5) : null;
}
