import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { useMay } from "../api/role.ts";
import type { ConsoleRole } from "../api/session.ts";
import { Icon } from "./icon.tsx";

interface PageFrameProps {
  readonly title: string;
  /** The list that this page is one of: its name and address. */
  readonly parent?: { readonly title: string; readonly to: string };
  /** Beside the title, such as a status. */
  readonly mark?: ReactNode;
  readonly actions?: ReactNode;
  /** The least role that is offered them; an editor where it is left out. */
  readonly actionsNeed?: ConsoleRole;
  readonly children: ReactNode;
}

/** A screen's frame: its title, which the tab has too, what can be done, and the content. */
export function PageFrame({ title, parent, mark, actions, actionsNeed = "editor", children }: PageFrameProps) {
  const mayAct = useMay(actionsNeed);
  useEffect(() => {
    document.title = `${title} · Parley`;
  }, [title]);
  return (
    <div className="page">
      {parent && (
        <Link href={parent.to} className="crumb">
          <Icon name="back" />
          {parent.title}
        </Link>
      )}
      <header className="page-head">
        <h1>{title}</h1>
        {mark}
        <div className="actions">{mayAct && actions}</div>
      </header>
      {children}
    </div>
  );
}

/** A part of a page with its own heading. */
export function Section({
  title,
  actions,
  actionsNeed = "editor",
  children,
}: Pick<PageFrameProps, "title" | "actions" | "actionsNeed" | "children">) {
  const mayAct = useMay(actionsNeed);
  return (
    <section className="section" aria-label={title}>
      <header className="section-head">
        <h2>{title}</h2>
        <div className="actions">{mayAct && actions}</div>
      </header>
      {children}
    </section>
  );
}

/** Names and values of one thing; what is undefined is left out. */
export function Facts({ facts }: { readonly facts: { readonly [name: string]: ReactNode } }) {
  return (
    <dl className="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value ?? <span className="faint">–</span>}</dd>
          </div>
        ))}
    </dl>
  );
}
