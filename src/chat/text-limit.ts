import { chatTextCharactersMax } from "./schema.ts";

/**
 * Returns a message's text, cut to `chatTextCharactersMax` characters. It comes from
 * strangers, and is cut before a pattern sees it.
 */
export function withinLimit(text: string): string {
  if (text.length <= chatTextCharactersMax) return text;
  // A character is one or two UTF-16 units.
  return [...text.slice(0, chatTextCharactersMax * 2)].slice(0, chatTextCharactersMax).join("");
}
