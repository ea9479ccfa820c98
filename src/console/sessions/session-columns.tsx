import type { ListedSession } from "../../console-shapes/sessions.ts";
import { StatusBadge } from "../parts/badge.tsx";
import type { Column } from "../parts/data-table.tsx";
import { countText } from "../parts/moment.ts";
import { TitleLine } from "../parts/title-line.tsx";
import { When } from "../parts/when.tsx";

/**
 * A session in a list: what it began with, and what became of its last turn; `between` tells the sessions of that list
 * apart. Where they were found by `words`, its page shows where these were said.
 */
export function sessionColumns(
  between: readonly Column<ListedSession>[],
  words?: string,
): readonly Column<ListedSession>[] {
  const behind = words === undefined ? "" : `?${new URLSearchParams({ words })}`;
  return [
    {
      name: "Session",
      cell: ({ id, agentId, firstMessagePreview, lastMessagePreview }) => (
        <TitleLine
          to={`/sessions/${agentId}/${id}${behind}`}
          id={id}
          title={firstMessagePreview || lastMessagePreview}
        />
      ),
    },
    {
      name: "Last turn",
      cell: ({ mark }) =>
        mark === null ? (
          <span className="faint">–</span>
        ) : (
          <StatusBadge status={mark.status} text={mark.errorCode ?? mark.status} />
        ),
    },
    ...between,
    { name: "Messages", cell: ({ messageCount }) => countText(messageCount), numeric: true, wideOnly: true },
    { name: "Tokens", cell: ({ mark }) => tokensText(mark), numeric: true, wideOnly: true },
    { name: "Last used", cell: ({ updatedAt }) => <When at={updatedAt} /> },
  ];
}

/** Of many turns only the newest are added up. A turn that used none so far says nothing yet. */
function tokensText(mark: ListedSession["mark"]): string {
  if (mark === null || mark.tokens === 0) return "–";
  return `${mark.isPartial ? "≥ " : ""}${countText(mark.tokens)}`;
}
