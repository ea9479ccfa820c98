import type { FilePart, MessagePart, ReasoningPart, SourceUrlPart, TextPart, UIMessage } from "parley/client";
import { memo, type ReactNode } from "react";
import { Markdown } from "../parts/markdown.tsx";
import { isSafeLink } from "../parts/safe-link.ts";
import { CallView } from "./call-view.tsx";
import { type CallPart, endNote, isCall, isOwnPicture } from "./parts-of.ts";

interface MessageViewProps {
  readonly message: UIMessage & { readonly pending?: boolean };
  /** What can be done about a call of this message, in place. */
  callAction?(part: CallPart): ReactNode;
  /** Beside the role, such as the time or a button. */
  readonly actions?: ReactNode;
  /** Whether every call shows its input and output from the start. */
  readonly unfolded?: boolean;
  readonly isStreaming?: boolean;
}

/** One message, as a reader of the conversation sees it. While an answer is streamed, the messages before it are not drawn anew. */
export const MessageView = memo(function MessageView(props: MessageViewProps) {
  const { message, callAction, actions, unfolded = false, isStreaming = false } = props;
  const note = endNote(message.metadata);
  return (
    <article className={`message ${message.role}`} data-streaming={isStreaming || undefined}>
      <header>
        <strong>{message.role === "user" ? "User" : "Assistant"}</strong>
        {message.pending && <span className="faint">not answered yet</span>}
        <div className="actions">{actions}</div>
      </header>
      <MessageParts parts={message.parts} by={message.role} unfolded={unfolded} callAction={callAction} />
      {note !== null && <p className="hint">{note}</p>}
    </article>
  );
});

interface PartsProps {
  readonly parts: readonly MessagePart[];
  readonly by: UIMessage["role"];
  readonly unfolded: boolean;
  readonly callAction?: ((part: CallPart) => ReactNode) | undefined;
}

/** Parts of a message, one below the other. */
export function MessageParts({ parts, by, unfolded, callAction }: PartsProps) {
  return parts.map((part, at) => (
    // Parts are only ever added at the end, so the place is their key.
    <PartView key={at} part={part} by={by} unfolded={unfolded} callAction={callAction} />
  ));
}

interface PartViewProps extends Omit<PartsProps, "parts" | "callAction"> {
  readonly part: MessagePart;
  readonly callAction: ((part: CallPart) => ReactNode) | undefined;
}

function PartView({ part, by, unfolded, callAction }: PartViewProps) {
  if (isCall(part)) {
    const action = callAction?.(part);
    return (
      <CallView part={part} open={unfolded || Boolean(action)}>
        {action}
      </CallView>
    );
  }
  switch (part.type) {
    case "text": {
      const { text } = part as TextPart;
      return by === "user" ? (
        <p className="as-written" dir="auto">
          {text}
        </p>
      ) : (
        <Markdown text={text} />
      );
    }
    case "reasoning": {
      const { text } = part as ReasoningPart;
      if (text === "") return null;
      return (
        <details className="reasoning">
          <summary>Thoughts</summary>
          <p className="as-written" dir="auto">
            {text}
          </p>
        </details>
      );
    }
    case "file":
      return <FileView file={part as FilePart} />;
    case "source-url": {
      const { url, title } = part as SourceUrlPart;
      return <p className="hint">Source: {<Outward url={url}>{title ?? url}</Outward>}</p>;
    }
    default:
      return null;
  }
}

function FileView({ file: { mediaType, url, filename } }: { readonly file: FilePart }) {
  const name = filename ?? mediaType;
  if (isOwnPicture(mediaType, url)) return <img className="picture" src={url} alt={`Picture: ${name}`} />;
  return (
    <p className="hint">
      File: <Outward url={url}>{url.startsWith("data:") ? name : url}</Outward>
    </p>
  );
}

function Outward({ url, children }: { readonly url: string; readonly children: ReactNode }) {
  if (!isSafeLink(url)) return children;
  return (
    <a href={url} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </a>
  );
}
