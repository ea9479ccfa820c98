import { useChat } from "@ai-sdk/react";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses as allDecided,
  getToolName,
  isToolUIPart,
  type UIMessage,
} from "ai";
import { type FormEvent, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { cancel, load, transport } from "./chat.ts";

type Part = UIMessage["parts"][number];
type OnDecision = (approvalId: string, approved: boolean) => void;

function Chat({ messages, decided }: { messages: UIMessage[]; decided: boolean }) {
  const resume = window.location.hash !== "" && !decided;
  // With the last decision the hook sends the message back, and `transport` makes the decisions of it.
  const chat = useChat({ transport, messages, resume, sendAutomaticallyWhen: allDecided });
  const [failure, setFailure] = useState<string | null>(null);
  const [text, setText] = useState("");
  const busy = chat.status === "submitted" || chat.status === "streaming";
  const failed = (error: unknown) => setFailure(error instanceof Error ? error.message : String(error));

  const onDecision: OnDecision = (id, approved) => void chat.addToolApprovalResponse({ id, approved });
  // A message that was decided before the page was loaded goes on in the same way, once.
  useEffect(() => void (decided && chat.sendMessage()), []);

  function onSubmit(event: FormEvent) {
    event.preventDefault();
    if (text.trim() === "" || busy) return;
    setFailure(null);
    void chat.sendMessage({ text });
    setText("");
  }

  const problem = failure ?? chat.error?.message;
  return (
    <>
      {chat.messages.map((message) => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, at) => (
            // Parts are only ever added at the end, so the place is their name.
            <Shown key={at} part={part} onDecision={onDecision} />
          ))}
        </article>
      ))}
      {problem !== undefined && <p role="alert">{problem}</p>}
      <form onSubmit={onSubmit}>
        <input value={text} onChange={(event) => setText(event.target.value)} placeholder="Say something" />
        {busy ? (
          <button type="button" onClick={() => void cancel().catch(failed)}>
            Stop
          </button>
        ) : (
          <button type="submit">Send</button>
        )}
      </form>
    </>
  );
}

function Shown({ part, onDecision }: { part: Part; onDecision: OnDecision }) {
  if (part.type === "text") return <span>{part.text}</span>;
  if (!isToolUIPart(part)) return null;
  return (
    <div className="call">
      {getToolName(part)} {JSON.stringify(part.input)} <em>{part.state}</em>
      {part.state === "approval-requested" && (
        <p>
          <button type="button" onClick={() => onDecision(part.approval.id, true)}>
            Approve
          </button>
          <button type="button" onClick={() => onDecision(part.approval.id, false)}>
            Deny
          </button>
        </p>
      )}
    </div>
  );
}

const root = createRoot(document.getElementById("page") as HTMLElement);
load().then(
  (loaded) => root.render(<Chat {...loaded} />),
  (error: Error) => root.render(<p role="alert">{error.message}</p>),
);
