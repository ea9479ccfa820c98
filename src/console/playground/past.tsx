import { useQuery } from "@tanstack/react-query";
import { parley } from "../api/client.ts";
import { inOneLine } from "../parts/title-line.tsx";
import { When } from "../parts/when.tsx";

/** Conversations that are listed. */
const shownMax = 30;

interface PastTalksProps {
  readonly agentId: string;
  readonly sessionId: string | null;
  onChoose(sessionId: string): void;
}

/** The agent's latest sessions, by what each began with; where there is room, beside the conversation. */
export function PastTalks({ agentId, sessionId, onChoose }: PastTalksProps) {
  const { data } = useQuery({
    queryKey: ["sessions", "past-talks", agentId, sessionId],
    queryFn: ({ signal }) => parley.sessions.list(agentId, { limit: shownMax }, { signal }),
    refetchInterval: 15_000,
    placeholderData: (before) => before,
  });
  // It stands there without any too: the conversation keeps its place when the first one begins.
  return (
    <section className="past-talks" aria-label="Past conversations">
      <h2>Past conversations</h2>
      {data?.data.length === 0 && <p className="hint">None yet.</p>}
      <ul>
        {data?.data.map(({ id, firstMessagePreview, lastMessagePreview, updatedAt }) => (
          <li key={id}>
            <button type="button" aria-pressed={id === sessionId} onClick={() => onChoose(id)}>
              <bdi className="clipped">{inOneLine(firstMessagePreview || lastMessagePreview) || id}</bdi>
              <span className="faint">
                <When at={updatedAt} />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
