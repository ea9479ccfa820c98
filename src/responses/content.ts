import { invalid } from "../kernel/errors.ts";
import { checkParts } from "../messages/ui-message.ts";

/** A part of a message's content. */
type ContentPart = Readonly<Record<string, unknown>>;

/** Returns the parts of a message as they are stored. Throws 400 naming what is wrong, or not supported. */
export function partsOfContent(
  content: unknown,
  role: "user" | "assistant",
  pointer: string,
): Record<string, unknown>[] {
  const parts = partsOf(content, pointer).map((part, index) =>
    role === "user"
      ? userPart(part, `${pointer}/${index}`)
      : { type: "text", text: spoken(part, `${pointer}/${index}`) },
  );
  if (role === "user") checkUserParts(parts, pointer);
  return parts;
}

/** Returns the texts of a content that has nothing else. Throws 400. */
export function textsIn(content: unknown, pointer: string, field = "content"): string[] {
  const place = `${pointer}/${field}`;
  return partsOf(content, place).map((part, index) => {
    const { type } = part;
    if (type !== "input_text" && type !== "output_text" && type !== "text")
      throw invalid(`${place}/${index}/type`, `${JSON.stringify(type)} is not supported here`);
    return textIn(part, `${place}/${index}`);
  });
}

function partsOf(content: unknown, pointer: string): ContentPart[] {
  if (typeof content === "string") return [{ type: "input_text", text: content }];
  if (!Array.isArray(content) || content.length === 0) throw invalid(pointer, "must be a text, or a list of parts");
  return content.map((part, index) => {
    if (typeof part !== "object" || part === null || Array.isArray(part))
      throw invalid(`${pointer}/${index}`, "must be an object");
    return part as ContentPart;
  });
}

function userPart(part: ContentPart, pointer: string): Record<string, unknown> {
  switch (part.type) {
    case "input_text":
      return { type: "text", text: textIn(part, pointer) };
    case "input_image":
      return imagePart(part, pointer);
    default:
      throw invalid(`${pointer}/type`, `${JSON.stringify(part.type)} is not supported: input_text and input_image are`);
  }
}

function imagePart({ image_url: url, file_id: fileId = null }: ContentPart, pointer: string): Record<string, unknown> {
  if (fileId !== null) throw invalid(`${pointer}/file_id`, "is not supported: send image_url");
  if (typeof url !== "string") throw invalid(`${pointer}/image_url`, "must be a text");
  return { type: "file", mediaType: mediaTypeOf(url), url };
}

/** What kind of image it is, the data URL says; of any other the address has to do. */
function mediaTypeOf(url: string): string {
  const [, said] = /^data:(image\/[A-Za-z0-9.+-]+);/.exec(url) ?? [];
  if (said !== undefined) return said;
  const ending = URL.canParse(url) ? /\.([a-z]+)$/i.exec(new URL(url).pathname)?.[1]?.toLowerCase() : undefined;
  return (ending === undefined ? undefined : typesByEnding[ending]) ?? "image/jpeg";
}

const typesByEnding: Readonly<Record<string, string>> = {
  png: "image/png",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
};

function checkUserParts(parts: readonly Record<string, unknown>[], pointer: string): void {
  for (const [index, part] of parts.entries()) {
    const isImage = part.type === "file";
    if (isImage && !canBeImage(part))
      throw invalid(`${pointer}/${index}/image_url`, "must be a data URL of an image or an https URL");
  }
  checkParts(parts, pointer);
}

function canBeImage(part: object): boolean {
  try {
    checkParts([part], "");
    return true;
  } catch {
    return false;
  }
}

function spoken(part: ContentPart, pointer: string): string {
  const { type } = part;
  if (type === "refusal") return String(part.refusal ?? "");
  if (type !== "output_text" && type !== "input_text" && type !== "text")
    throw invalid(`${pointer}/type`, `${JSON.stringify(type)} is not supported: output_text is`);
  return textIn(part, pointer);
}

function textIn({ text }: ContentPart, pointer: string): string {
  if (typeof text !== "string") throw invalid(`${pointer}/text`, "must be a text");
  return text;
}
