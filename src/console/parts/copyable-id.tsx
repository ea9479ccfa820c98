import { useState } from "react";
import { Link } from "wouter";
import { copyText } from "./copy-text.ts";
import { Icon } from "./icon.tsx";

/** An id with a button that copies it; with `to`, the id is a link. */
export function CopyableId({ id, to }: { readonly id: string; readonly to?: string | undefined }) {
  const [copied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    await copyText(id);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  }
  return (
    <span className="copyable">
      {to === undefined ? <code>{id}</code> : <Link href={to}>{<code>{id}</code>}</Link>}
      <button
        type="button"
        className="button quiet only-icon small"
        aria-label={`Copy ${id}`}
        onClick={() => void copy()}
      >
        <Icon name={copied ? "done" : "copy"} />
      </button>
    </span>
  );
}
