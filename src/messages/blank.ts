/** Anything that can be seen: no white space, no control character, and none that is never drawn, such as U+200B. */
const visible = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\u2800]/u;

/** Returns whether a text says nothing. Vendors of models refuse such a text, and a person sees none. */
export function isBlank(text: string): boolean {
  return !visible.test(text);
}
