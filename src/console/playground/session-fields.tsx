import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { parley } from "../api/client.ts";
import { jsonText, readJsonText } from "../parts/json-text.ts";
import { usePlaygroundAddress } from "./address.ts";

/** The session that is open in the first column; undefined: none is, or it is not read yet. */
export function useOpenSession() {
  const [{ agentId, columns }] = usePlaygroundAddress();
  const sessionId = columns[0]?.sessionId ?? columns[1]?.sessionId ?? null;
  return useQuery({
    queryKey: ["session", sessionId],
    queryFn: ({ signal }) => parley.sessions.get(agentId as string, sessionId as string, { signal }),
    enabled: agentId !== null && sessionId !== null,
  }).data;
}

/** Metadata as it is written in the address; null where it is no object of JSON. */
export function readMetadata(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value = readJsonText<unknown>("metadata", text, {});
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

/** Whom the next session is with, and its metadata; a session that is open keeps its own. */
export function SessionFields() {
  const [{ columns, userId, metadata }, change] = usePlaygroundAddress();
  const session = useOpenSession();
  const isOpen = columns.some((column) => column !== null && column.sessionId !== null);
  const id = useId();
  const shown = isOpen ? (session && jsonText(session.metadata)) || "" : metadata;
  const isWrong = !isOpen && readMetadata(metadata) === null;
  return (
    <section className="session-fields" aria-label="Session">
      <div className="field">
        <label htmlFor={id}>As user</label>
        <input
          id={id}
          autoComplete="off"
          placeholder="nobody"
          readOnly={isOpen}
          value={isOpen ? (session?.userId ?? "") : userId}
          onChange={(event) => change({ user: event.target.value || null })}
        />
      </div>
      <details className="more-fields">
        <summary>Metadata{shown !== "" && shown !== "{}" && " …"}</summary>
        <div className="field">
          <textarea
            aria-label="Metadata"
            aria-invalid={isWrong}
            aria-describedby={`${id}-hint`}
            className="code"
            rows={3}
            spellCheck={false}
            placeholder='{ "plan": "pro" }'
            readOnly={isOpen}
            value={shown}
            onChange={(event) => change({ metadata: event.target.value || null })}
          />
          <p id={`${id}-hint`} className={isWrong ? "fault" : "hint"}>
            {isWrong ? "This is no object of JSON." : isOpen ? "As the session began." : "Of the session that begins."}
          </p>
        </div>
      </details>
    </section>
  );
}
