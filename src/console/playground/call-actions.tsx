import { useState } from "react";
import { asResult, type CallPart } from "../conversation/parts-of.ts";
import { Button } from "../parts/button.tsx";
import type { Talk } from "./talk.ts";

interface CallActionProps {
  readonly talk: Talk;
  readonly part: CallPart;
}

/** Decides a call that asks for approval. */
export function DecideHere({ talk, part }: CallActionProps) {
  const [reason, setReason] = useState("");
  const decide = (approved: boolean) =>
    talk.say(part, { approved, ...(reason.trim() !== "" && { reason: reason.trim() }) });
  return (
    <form className="call-action" onSubmit={(event) => event.preventDefault()}>
      <input
        aria-label="Reason"
        placeholder="Reason (optional)"
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <Button tone="primary" onClick={() => decide(true)}>
        Approve
      </Button>
      <Button tone="danger" onClick={() => decide(false)}>
        Deny
      </Button>
    </form>
  );
}

/** Gives the result of a tool that runs at the caller: JSON where it is JSON, else text. */
export function AnswerHere({ talk, part }: CallActionProps) {
  const [text, setText] = useState("");
  const send = () => talk.say(part, { output: asResult(text) });
  const fail = () => talk.say(part, { state: "output-error", errorText: text.trim() || "It failed." });
  return (
    <form
      className="call-action"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        aria-label="Result"
        placeholder="Result: JSON or text"
        rows={1}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" tone="primary">
        Send result
      </Button>
      <Button onClick={fail}>Report failure</Button>
    </form>
  );
}
