import { IconButton } from "./button.tsx";
import { copyText } from "./copy-text.ts";

/** Text in its own lines, with a button that copies it. */
export function CodeBlock({ text, language, label }: { text: string; language?: string | undefined; label?: string }) {
  return (
    <div className="code-block">
      <header>
        <span>{label ?? language ?? ""}</span>
        <IconButton label="Copy" icon="copy" onClick={() => void copyText(text)} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </div>
  );
}
