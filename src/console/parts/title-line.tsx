import { Link } from "wouter";
import { CopyButton } from "./copyable-id.tsx";

interface TitleLineProps {
  readonly to: string;
  readonly id: string;
  /** What the row is called, as somebody said it; undefined while that is read, empty or null where there is nothing. */
  readonly title: string | null | undefined;
  /** A word on it, behind the title. */
  readonly about?: string | undefined;
  readonly isBad?: boolean;
}

/** The first cell of a row that is called by what was said: one line, in its own direction, with a button that copies the id. */
export function TitleLine({ to, id, title, about, isBad = false }: TitleLineProps) {
  const text = title === undefined ? "…" : inOneLine(title ?? "") || id;
  return (
    <span className="title-line">
      <Link href={to} className="title-text" title={[text, about].filter(Boolean).join("\n")}>
        <bdi dir="auto">{text}</bdi>
        {about !== undefined && <span className={isBad ? "fault" : "faint"}> {about}</span>}
      </Link>
      <CopyButton text={id} />
    </span>
  );
}

/** A text in one line, without the signs of Markdown. */
export function inOneLine(text: string): string {
  return text
    .replaceAll(/```|`|\*\*|__|^#{1,6} |^> /gm, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/\s+/g, " ")
    .trim();
}
