import type { DiffLine } from "./line-diff.ts";

/** Fields or files that changed, line by line. */
export function ChangedLines({
  label,
  changes,
}: {
  readonly label: string;
  readonly changes: readonly { readonly field: string; readonly lines: readonly DiffLine[] }[];
}) {
  return (
    <dl className="diff" aria-label={label}>
      {changes.map(({ field, lines }) => (
        <div key={field}>
          <dt>{field}</dt>
          <dd>
            {lines.map(({ kind, text }, at) => {
              const line = text === "" ? " " : text;
              // The place is the line's identity: the list is made anew whenever a text is another one.
              const key = `${at}`;
              if (kind === "removed") return <del key={key}>{line}</del>;
              return kind === "added" ? <ins key={key}>{line}</ins> : <span key={key}>{line}</span>;
            })}
          </dd>
        </div>
      ))}
    </dl>
  );
}
