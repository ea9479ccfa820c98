import { Link } from "wouter";
import type { WaitingCall } from "../../console-shapes/words.ts";
import { useOpenCalls } from "../api/open-calls.ts";
import { useQuestions } from "../api/questions.ts";
import { Badge } from "../parts/badge.tsx";
import type { Column } from "../parts/data-table.tsx";
import { ListView } from "../parts/list-view.tsx";
import { TitleLine } from "../parts/title-line.tsx";
import { When } from "../parts/when.tsx";

const columnsOf = (questionOf: (turnId: string) => string | null | undefined): readonly Column<WaitingCall>[] => [
  {
    name: "Asked",
    cell: ({ agentId, sessionId, turnId }) => (
      <TitleLine to={`/sessions/${agentId}/${sessionId}`} id={turnId} title={questionOf(turnId)} />
    ),
  },
  { name: "Tool", cell: ({ tool }) => <code>{tool}</code> },
  {
    name: "Waits for",
    cell: ({ kind }) => <Badge tone="warn">{kind === "approval" ? "approval" : "result"}</Badge>,
  },
  { name: "Agent", cell: ({ agentId, agentName }) => <Link href={`/agents/${agentId}`}>{agentName}</Link> },
  {
    name: "Session",
    cell: ({ agentId, sessionId }) => <Link href={`/playground?agent=${agentId}&session=${sessionId}`}>Open</Link>,
  },
  { name: "Since", cell: ({ createdAt }) => <When at={createdAt} /> },
];

/** What waits for a person, oldest first. */
export function WaitingCalls() {
  const list = useOpenCalls(10, 5_000);
  const questionOf = useQuestions([...new Set(list.rows.map(({ turnId }) => turnId))]);
  return (
    <ListView
      list={list}
      caption="Calls that wait"
      columns={columnsOf(questionOf)}
      rowKey={({ sessionId, toolCallId }) => `${sessionId} ${toolCallId}`}
      empty="Nothing waits."
    />
  );
}
