import { ApiError, invalidAs } from "../kernel/errors.ts";
import { readForm } from "../kernel/http/multipart.ts";

/** The size limit of a picture (docs/configuration.md, "Limits"). */
const avatarBytesMax = 512 * 1024;
/** The size limit of the multipart envelope around the picture. */
const envelopeBytesMax = 16 * 1024;

/**
 * Reads a picture from a multipart form; the limit holds whatever length the
 * request announces. Its type is taken from its first bytes, not from the form. Throws 400
 * `avatar_missing`, 413 `avatar_too_large`, 415 `avatar_media_type`.
 */
export async function readAvatar(request: Request): Promise<{ bytes: Uint8Array; mediaType: string }> {
  const form = await readPictureForm(request);
  const files = form.getAll("file");
  const other = [...form.keys()].find((name) => name !== "file");
  if (other !== undefined) throw malformed(`The form has a field that is not known: ${other}.`);
  if (files.length > 1) throw malformed("The form has more than one file.");
  const [file] = files;
  if (!(file instanceof Blob)) throw new ApiError("avatar_missing");
  if (file.size > avatarBytesMax) throw new ApiError("avatar_too_large");
  const bytes = new Uint8Array(await file.arrayBuffer());
  const mediaType = sniff(bytes);
  if (mediaType === null) throw new ApiError("avatar_media_type");
  return { bytes, mediaType };
}

/** Avatar errors have their own causes. */
async function readPictureForm(request: Request): Promise<FormData> {
  try {
    return await readForm(request, avatarBytesMax + envelopeBytesMax);
  } catch (error) {
    const isTooLarge = error instanceof ApiError && error.reason === "payload_too_large";
    throw isTooLarge ? new ApiError("avatar_too_large") : invalidAs("avatar_missing", error);
  }
}

/** Avatar errors have form A's codes in both forms (docs/forms.md, "Errors"). */
function malformed(message: string): ApiError {
  return new ApiError("avatar_missing", { message });
}

/** Returns the media type that a picture's first bytes show; null for anything but PNG, JPEG and WebP. */
export function sniff(bytes: Uint8Array): string | null {
  const starts = (text: string, at = 0) => [...text].every((char, index) => bytes[at + index] === char.charCodeAt(0));
  if (starts("\x89PNG\r\n\x1a\n")) return "image/png";
  if (starts("\xff\xd8\xff")) return "image/jpeg";
  if (starts("RIFF") && starts("WEBP", 8)) return "image/webp";
  return null;
}
