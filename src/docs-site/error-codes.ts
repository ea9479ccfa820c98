import { defaultMessage, errorCauses, spell } from "../kernel/errors.ts";
import type { ShownOperation } from "./document.ts";
import { type Html, html } from "./html.ts";

/** A code with what it means. Several causes may share one. */
interface ErrorRow {
  readonly status: number;
  readonly code: string;
  readonly messages: ReadonlySet<string>;
  /** How form A spells it, where that differs. */
  readonly inA: ReadonlySet<string>;
}

/** The codes that the operations may respond with, in the order of the table of errors. */
export function errorRows(operations: readonly ShownOperation[]): ErrorRow[] {
  const told = new Set(operations.flatMap(({ responses }) => Object.values(responses).flatMap(quotedOf)));
  const rows = new Map<string, ErrorRow & { messages: Set<string>; inA: Set<string> }>();
  for (const cause of errorCauses) {
    const { status, code } = spell(cause, "b");
    if (!told.has(code)) continue;
    const row = rows.get(`${status} ${code}`) ?? { status, code, messages: new Set(), inA: new Set() };
    row.messages.add(defaultMessage(cause));
    const other = spell(cause, "a");
    if (other.code !== code || other.status !== status) row.inA.add(`${other.status} ${other.code}`);
    rows.set(`${status} ${code}`, row);
  }
  return [...rows.values()];
}

function quotedOf({ description }: { readonly description: string }): string[] {
  return [...description.matchAll(/`(\w+)`/g)].map((match) => match[1] as string);
}

/** All codes as a table, closed. A code with several statuses is linked to by its first row. */
export function errorCodesTable(operations: readonly ShownOperation[]): Html {
  const named = new Set<string>();
  const rows = errorRows(operations).map(({ status, code, messages, inA }) => {
    const id = named.has(code) ? null : html` id="error-${code}"`;
    named.add(code);
    const spelled = inA.size === 0 ? null : html` <span class="faint">In form A: ${[...inA].join(", ")}.</span>`;
    return html`<tr${id}><td><span class="status bad">${status}</span></td><td><code>${code}</code></td><td>${[...messages].join(" ")}${spelled}</td></tr>
`;
  });
  return html`<details class="shape"><summary><h3>All codes</h3></summary><div><table class="fields">
<thead><tr><th>Status</th><th>Code</th><th>What it means</th></tr></thead><tbody>${rows}</tbody></table></div></details>`;
}
