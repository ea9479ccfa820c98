import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useOpenCalls } from "../api/open-calls.ts";
import { type ConsoleSession, signOut } from "../api/session.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { toastError } from "../parts/toasts.tsx";
import type { ScreenGroup } from "../screens.ts";
import { TenantChoices } from "./choose-tenant.tsx";
import { loadScreen } from "./screen-place.tsx";

interface NavigationProps {
  readonly groups: readonly ScreenGroup[];
  readonly session: ConsoleSession;
  /** The address of the present screen. */
  readonly present: string;
  onClose(): void;
}

/** The links to all screens, who is signed in, and the way out. */
export function Navigation({ groups, session, present, onClose }: NavigationProps) {
  const place = useRef<HTMLElement>(null);
  const [isChoosing, setChoosing] = useState(false);
  const { principal, installation } = session;
  useEffect(() => {
    // Where the list is longer than the window, the present screen's link is in sight. `scrollIntoView`
    // would also be where the Tab key begins.
    const links = place.current?.querySelector(".links");
    const link = present && place.current?.querySelector<HTMLElement>("[aria-current]");
    if (!links || !link) return;
    const below = link.getBoundingClientRect().bottom - links.getBoundingClientRect().bottom;
    if (below > 0) links.scrollTop += below + 8;
  }, [present]);
  return (
    <nav id="navigation" ref={place} aria-label="Screens">
      <p className="brand">Parley</p>
      <div className="links">
        {groups.map(({ title, screens }) => (
          <div key={title}>
            <h2>{title}</h2>
            <ul>
              {screens.map((screen) => {
                const { name, path } = screen;
                return (
                  <li key={name}>
                    <Link
                      href={path}
                      aria-current={path === present ? "page" : undefined}
                      // A screen's code is on its way before the click.
                      onPointerEnter={() => void loadScreen(screen).catch(() => {})}
                      onClick={onClose}
                    >
                      {name}
                      {name === "Approvals" && <WaitingCount />}
                    </Link>
                  </li>
                );
              })}
            </ul>
          </div>
        ))}
      </div>
      <footer>
        <p className="who">
          <strong>{principal.kind === "tenant" ? principal.tenantName : "Operator"}</strong>
          <span>{whoIsIn(session)}</span>
          {principal.kind === "tenant" && principal.role !== "admin" && <span>{principal.role}</span>}
        </p>
        {session.tenants.length + (session.person?.isOperator ? 1 : 0) > 1 && (
          <>
            <Button onClick={() => setChoosing(true)}>Change tenant</Button>
            <Dialog title="Change tenant" open={isChoosing} onOpenChange={setChoosing}>
              <TenantChoices session={session} onChosen={() => setChoosing(false)} />
            </Dialog>
          </>
        )}
        <Button onClick={() => void signOut().catch(toastError)}>Sign out</Button>
        {installation && <p className="faint">Parley {installation.version}</p>}
      </footer>
    </nav>
  );
}

/** Calls that are counted beside the link of the approvals, as many as the overview reads, and how often, in ms. */
const countedMax = 10;
const countedEveryMs = 20_000;

/** How many calls wait for a person; the screen itself says it to those who do not see. */
function WaitingCount() {
  const { rows, hasMore } = useOpenCalls(countedMax, countedEveryMs);
  if (rows.length === 0) return null;
  return (
    <span className="count" aria-hidden="true">
      {rows.length}
      {hasMore && "+"}
    </span>
  );
}

/** What the person, the key or the user is called. */
function whoIsIn({ principal, person }: ConsoleSession): string | null {
  if (person !== null) return person.name ?? person.email;
  return principal.kind === "tenant" ? (principal.keyName ?? principal.userId) : null;
}
