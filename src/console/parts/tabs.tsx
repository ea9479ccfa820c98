import { Link, useLocation } from "wouter";

/** One tab: its name and its address. */
export interface Tab {
  readonly name: string;
  readonly to: string;
}

/** The parts of a screen, each at its own address; the longest address that begins the present one is marked. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const [location] = useLocation();
  const present = tabs
    .filter(({ to }) => location === to || location.startsWith(`${to}/`))
    .sort((one, other) => other.to.length - one.to.length)[0];
  return (
    <ul className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <li key={tab.to}>
          <Link href={tab.to} aria-current={tab === present ? "true" : undefined}>
            {tab.name}
          </Link>
        </li>
      ))}
    </ul>
  );
}
