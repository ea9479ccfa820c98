import { type ReactNode, type RefObject, useState } from "react";
import { useMay } from "../api/role.ts";
import { usePlaygroundAddress } from "./address.ts";
import { hasRoomBeside } from "./room-beside.ts";
import { SessionFields, useOpenSession } from "./session-fields.tsx";
import { type TriedSettings, TrySettings } from "./try-settings.tsx";

interface WorkbenchProps {
  readonly agentId: string;
  readonly tried: RefObject<TriedSettings | null>;
  readonly children: ReactNode;
}

/** What is beside a conversation: whom it is with, the settings to try, and further parts. */
export function Workbench({ agentId, tried, children }: WorkbenchProps) {
  const [{ columns, isComparing }] = usePlaygroundAddress();
  const session = useOpenSession();
  const mayEdit = useMay("editor");
  const [isOpen] = useState(hasRoomBeside);
  // Until a session is read, what it was begun with; then what it stays with.
  const version = session === undefined ? (columns[0]?.version ?? null) : session.agentVersion;
  return (
    <aside className="workbench" aria-label="Workbench">
      <SessionFields />
      {mayEdit && !isComparing && (
        <details className="more-fields" open={isOpen}>
          <summary>Settings to try</summary>
          <TrySettings agentId={agentId} version={version} tried={tried} />
        </details>
      )}
      {children}
    </aside>
  );
}
