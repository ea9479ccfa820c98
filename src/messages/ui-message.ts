import { invalid } from "../kernel/errors.ts";
import { isBlank } from "./blank.ts";

/** A UI message as it is stored, and as clients send and receive it. */
export interface UiMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly unknown[];
  readonly metadata?: unknown;
}

/** A message has at most this many pictures. */
export const picturesPerMessageMax = 20;

/** An image has at least one byte: two characters of base64. */
const imageDataUrl = /^data:image\/[A-Za-z0-9.+-]+;base64,[A-Za-z0-9+/]{2,}={0,2}$/;

/**
 * Checks the parts of a user's message: text, or an image as a data URL or an
 * https URL (docs/decisions/turns.md), and not only blank texts, which no vendor takes. Throws 400 naming the part.
 */
export function checkParts(parts: readonly unknown[], pointer: string): void {
  for (const [index, part] of parts.entries()) checkPart(part, `${pointer}/${index}`);
  if (parts.every(isBlankText)) throw invalid(pointer, "must have a text that is not blank, or a picture");
  checkPictureCount(parts, pointer);
}

/** Checks how many pictures or other files a message has. Throws 400 naming the first one too many. */
export function checkPictureCount(parts: readonly unknown[], pointer: string): void {
  let pictures = 0;
  for (const [index, part] of parts.entries()) {
    if ((part as { readonly type?: unknown }).type !== "file") continue;
    pictures += 1;
    if (pictures > picturesPerMessageMax)
      throw invalid(`${pointer}/${index}`, `is one too many: a message has at most ${picturesPerMessageMax} pictures`);
  }
}

function isBlankText(part: unknown): boolean {
  const { type, text } = part as { readonly type?: unknown; readonly text?: unknown };
  return type === "text" && isBlank(String(text));
}

function checkPart(part: unknown, pointer: string): void {
  if (typeof part !== "object" || part === null || Array.isArray(part)) throw invalid(pointer, "must be an object");
  const fields = part as { type?: unknown; text?: unknown; mediaType?: unknown; url?: unknown };
  if (fields.type === "text") {
    if (typeof fields.text !== "string") throw invalid(`${pointer}/text`, "must be text");
    return;
  }
  if (fields.type !== "file") throw invalid(`${pointer}/type`, 'must be "text" or "file"');
  if (typeof fields.mediaType !== "string" || !/^image\/[A-Za-z0-9.+-]+$/.test(fields.mediaType)) {
    throw invalid(`${pointer}/mediaType`, "must be an image type, such as image/png");
  }
  if (typeof fields.url !== "string" || !(imageDataUrl.test(fields.url) || isHttps(fields.url))) {
    throw invalid(`${pointer}/url`, "must be a data URL of an image or an https URL");
  }
}

function isHttps(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === "https:";
}
