import { useEffect, useRef, useState } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { isAtLeast } from "../api/role.ts";
import type { ConsoleSession } from "../api/session.ts";
// Watches from the beginning, before a screen asks.
import "../parts/arrival.ts";
import { IconButton } from "../parts/button.tsx";
import { Empty } from "../parts/states.tsx";
import { operatorScreens, type Screen, type ScreenGroup, tenantScreens } from "../screens.ts";
import { ErrorBoundary } from "./error-boundary.tsx";
import { Keys } from "./keys.tsx";
import { Navigation } from "./navigation.tsx";
import { Palette } from "./palette.tsx";
import { ScreenPlace } from "./screen-place.tsx";

/** Screens that are there for somebody, by their groups. */
function shownGroups(principal: ConsoleSession["principal"]): ScreenGroup[] {
  const isOffered = ({ load, needs = "reader" }: Screen) =>
    load !== null && (principal.kind !== "tenant" || isAtLeast(principal.role, needs));
  return (principal.kind === "operator" ? operatorScreens : tenantScreens)
    .map(({ title, screens }) => ({ title, screens: screens.filter(isOffered) }))
    .filter(({ screens }) => screens.length > 0);
}

/** Does something at Escape while the menu is open, wherever the focus is. */
function useEscape(isOpen: boolean, close: () => void): void {
  const latest = useRef(close);
  latest.current = close;
  useEffect(() => {
    if (!isOpen) return;
    const onKeyDown = ({ key }: KeyboardEvent) => key === "Escape" && latest.current();
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [isOpen]);
}

/** Says that there is no screen at an address, or which role it is for. */
function NoScreen({ present, session: { principal } }: { readonly present: string; readonly session: ConsoleSession }) {
  const screen = tenantScreens.flatMap(({ screens }) => screens).find(({ path }) => path === present);
  return (
    <Empty>
      {screen?.needs === undefined || principal.kind !== "tenant" ? (
        <h1>There is nothing at this address.</h1>
      ) : (
        <>
          <h1>{screen.name} is not for your role.</h1>
          <p>
            It needs the role {screen.needs}, and yours is {principal.role}. An admin of your team can give you another
            one.
          </p>
        </>
      )}
    </Empty>
  );
}

/** What stands around every screen. */
export function Frame({ session }: { readonly session: ConsoleSession }) {
  const [open, setOpen] = useState(false);
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const menuButton = useRef<HTMLButtonElement>(null);
  const groups = shownGroups(session.principal);
  const screens = groups.flatMap((group) => group.screens);
  const present = `/${location.split("/")[1] ?? ""}`;
  useEffect(() => setOpen(false), [location]);
  useEscape(open, () => {
    setOpen(false);
    menuButton.current?.focus();
  });
  return (
    <div className="frame" data-menu={open ? "open" : "closed"}>
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header className="bar">
        <IconButton
          ref={menuButton}
          label={open ? "Close menu" : "Open menu"}
          icon={open ? "close" : "menu"}
          aria-expanded={open}
          aria-controls="navigation"
          onClick={() => setOpen(!open)}
        />
        <span className="brand">Parley</span>
      </header>
      <Navigation groups={groups} session={session} present={present} onClose={() => setOpen(false)} />
      <div className="behind-menu" aria-hidden="true" onPointerDown={() => setOpen(false)} />
      <main id="main" ref={main} tabIndex={-1}>
        <ErrorBoundary address={location}>
          <Switch>
            {screens.map((screen) => (
              <Route key={screen.name} path={screen.path === "/" ? "/" : `${screen.path}/*?`}>
                <ScreenPlace screen={screen} />
              </Route>
            ))}
            {session.principal.kind === "operator" && screens[0] && <Redirect to={screens[0].path} replace />}
            <Route>
              <NoScreen present={present} session={session} />
            </Route>
          </Switch>
        </ErrorBoundary>
      </main>
      <Keys screens={screens} />
      <Palette screens={screens} />
    </div>
  );
}
