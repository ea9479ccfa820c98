import type { ChatConnection } from "parley/client";
import { Badge } from "../parts/badge.tsx";
import { Facts } from "../parts/page.tsx";
import { When } from "../parts/when.tsx";
import { checkTone, healthCheckText } from "./chat-words.ts";

type Health = ChatConnection["health"];

/** Whether the last check found everything well. */
export function HealthBadge({ health }: { readonly health: Health }) {
  if (health.checkedAt === null) return <Badge>not checked</Badge>;
  const failed = health.checks.filter(({ status }) => status === "fail").length;
  if (!health.tokenValid) return <Badge tone="bad">token refused</Badge>;
  if (!health.identityVerified) return <Badge tone="bad">another bot</Badge>;
  if (failed > 0) return <Badge tone="bad">{failed === 1 ? "1 check failed" : `${failed} checks failed`}</Badge>;
  return (
    <>
      <Badge tone="good">healthy</Badge>
      <span className="block faint">
        checked <When at={health.checkedAt} />
      </span>
    </>
  );
}

/** What the last check found. */
export function HealthView({ health }: { readonly health: Health }) {
  return (
    <>
      <Facts
        facts={{
          Checked: <When at={health.checkedAt} />,
          Token: health.tokenValid ? "valid" : "refused",
          Bot: health.identityVerified ? "verified" : "not verified",
        }}
      />
      <ul className="checks" aria-label="Checks">
        {health.checks.map((check) => (
          <li key={`${check.code} ${check.subject ?? ""}`}>
            <Badge tone={checkTone(check.status)}>{check.status}</Badge> {healthCheckText(check)}
          </li>
        ))}
      </ul>
    </>
  );
}
