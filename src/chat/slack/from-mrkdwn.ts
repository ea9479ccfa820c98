/** Code, which is left as it is: a block, or a piece within a line. */
const code = /(```[\s\S]*?```|`[^`\n]+`)/;

/**
 * A mark of Slack's around words: behind the line's start, a space or punctuation, and before
 * the same. What is between holds neither the mark nor a line's end, so that the time grows with
 * the length of the text and not with its square.
 */
const marked = (mark: "*" | "~") => {
  const edge = "[\\s\\p{P}\\p{S}]";
  return new RegExp(
    `(?<=^|${edge})(?<![${mark}])[${mark}](?!\\s)([^${mark}\\n]*[^\\s${mark}])[${mark}](?![${mark}])(?=$|${edge})`,
    "gmu",
  );
};
const bold = marked("*");
const strike = marked("~");

/** Returns what a person wrote in Slack's formatting (mrkdwn) as Markdown, which models read: `*bold*` would be italics there. */
export function fromMrkdwn(text: string): string {
  return text
    .split(code)
    .map((piece, index) => (index % 2 === 1 ? piece : piece.replace(bold, "**$1**").replace(strike, "~~$1~~")))
    .join("");
}
