import { type UseChatHelpers, useChat } from "@ai-sdk/react";
import { getToolName, isToolUIPart, type UIMessage } from "ai";
import { type FormEvent, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { canGoOn, load, transport, whenIdle } from "./chat.ts";

type Part = UIMessage["parts"][number];
type Call = Extract<Part, { toolCallId: string }>;
type Chat = UseChatHelpers<UIMessage>;

function Page({ messages }: { messages: UIMessage[] | null }) {
  const chat = useChat({
    transport,
    messages: messages ?? [],
    resume: messages !== null,
    // With the last decision, or result, the hook sends the message back, and the turn goes on.
    sendAutomaticallyWhen: canGoOn,
  });
  const { setMessages } = chat;
  useEffect(() => {
    const lastId = messages?.at(-1)?.id;
    whenIdle(async () => {
      const stored = (await load()) ?? [];
      // Unless something was sent meanwhile.
      setMessages((shown) => (shown.at(-1)?.id === lastId ? stored : shown));
    });
  }, [messages, setMessages]);
  const busy = chat.status === "submitted" || chat.status === "streaming";
  return (
    <>
      {chat.messages.map((message) => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, at) => (
            // Parts are only ever added at the end, so the place is their name.
            <Shown key={at} part={part} chat={chat} />
          ))}
        </article>
      ))}
      {chat.error !== undefined && <p role="alert">{chat.error.message}</p>}
      <Send chat={chat}>
        {busy && (
          <button type="button" onClick={() => void chat.stop()}>
            Stop
          </button>
        )}
        {!busy && chat.messages.length > 0 && (
          <button type="button" onClick={() => void chat.regenerate()}>
            Regenerate
          </button>
        )}
      </Send>
    </>
  );
}

/** The field for a message; one that is sent while an answer runs waits for its end. */
function Send({ chat, children }: { chat: Chat; children: React.ReactNode }) {
  const [text, setText] = useState("");
  function onSubmit(event: FormEvent) {
    event.preventDefault();
    if (text.trim() === "") return;
    void chat.sendMessage({ text });
    setText("");
  }
  return (
    <form onSubmit={onSubmit}>
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      <button type="submit">Send</button>
      {children}
    </form>
  );
}

function Shown({ part, chat }: { part: Part; chat: Chat }) {
  if (part.type === "text") return <span>{part.text}</span>;
  if (!isToolUIPart(part)) return null;
  return (
    <div className="call">
      {getToolName(part)} {JSON.stringify(part.input)} <em>{part.state}</em>
      {part.state === "approval-requested" && <Decide id={part.approval.id} chat={chat} />}
      {part.state === "input-available" && chat.status === "ready" && <Answer call={part} chat={chat} />}
      {part.state === "output-available" && <pre>{JSON.stringify(part.output)}</pre>}
    </div>
  );
}

function Decide({ id, chat }: { id: string; chat: Chat }) {
  const decide = (approved: boolean) => () => void chat.addToolApprovalResponse({ id, approved });
  return (
    <p>
      <button type="button" onClick={decide(true)}>
        Approve
      </button>
      <button type="button" onClick={decide(false)}>
        Deny
      </button>
    </p>
  );
}

/** The result of a tool that runs here; one that needs nobody is answered in the hook's `onToolCall` instead. */
function Answer({ call, chat }: { call: Call; chat: Chat }) {
  const [output, setOutput] = useState("");
  const { toolCallId } = call;
  const answer = () =>
    void chat.addToolOutput({ tool: getToolName(call) as never, toolCallId, output: output as never });
  return (
    <p>
      <input aria-label="Result" value={output} onChange={(event) => setOutput(event.target.value)} />
      <button type="button" onClick={answer}>
        Send result
      </button>
    </p>
  );
}

const root = createRoot(document.getElementById("page") as HTMLElement);
load().then(
  (messages) => root.render(<Page messages={messages} />),
  (error: Error) => root.render(<p role="alert">{error.message}</p>),
);
