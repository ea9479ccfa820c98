import { useState } from "react";
import { Link } from "wouter";
import { Button } from "./button.tsx";
import { copyText } from "./copy-text.ts";
import { Icon } from "./icon.tsx";

/** An id with a button that copies it; with `to`, the id is a link. */
export function CopyableId({ id, to }: { readonly id: string; readonly to?: string | undefined }) {
  return (
    <span className="copyable">
      {to === undefined ? <code>{id}</code> : <Link href={to}>{<code>{id}</code>}</Link>}
      <CopyButton text={id} />
    </span>
  );
}

/** A small button that copies a text. */
export function CopyButton({ text }: { readonly text: string }) {
  const [copied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  }
  return (
    <button
      type="button"
      className="button quiet only-icon small"
      aria-label={`Copy ${text}`}
      title={`Copy ${text}`}
      onClick={() => void copy()}
    >
      <Icon name={copied ? "done" : "copy"} />
    </button>
  );
}

/** A button that copies the address of the present page, with its filters: to send it to somebody. */
export function CopyLink() {
  const [copied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    await copyText(window.location.href);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  }
  return <Button onClick={() => void copy()}>{copied ? "Copied" : "Copy link"}</Button>;
}
