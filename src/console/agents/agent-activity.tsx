import { versionText } from "../api/versions.ts";
import { ButtonLink } from "../parts/button.tsx";
import { Section } from "../parts/page.tsx";
import { UserLink } from "../parts/user-link.tsx";
import { SessionsOf } from "../sessions/sessions-of.tsx";
import { TurnsOf } from "../turns/turns-of.tsx";

/** The latest turns and sessions of an agent. */
export function AgentActivity({ agentId }: { readonly agentId: string }) {
  return (
    <>
      <Section
        title="Turns"
        actionsNeed="reader"
        actions={
          <>
            <ButtonLink to={`/turns?agentId=${agentId}&status=failed`}>Failed</ButtonLink>
            <ButtonLink to={`/turns?agentId=${agentId}&order=longest`}>Longest</ButtonLink>
            <ButtonLink to={`/turns?agentId=${agentId}`}>All</ButtonLink>
          </>
        }
      >
        <TurnsOf
          of={{ agentId }}
          caption="Turns of this agent"
          empty="It has run no turn yet."
          columns={[
            { name: "User", cell: ({ userId }) => <UserLink userId={userId} /> },
            { name: "Version", cell: ({ agentVersion }) => versionText(agentVersion), numeric: true, wideOnly: true },
          ]}
        />
      </Section>
      <Section
        title="Sessions"
        actionsNeed="reader"
        actions={<ButtonLink to={`/sessions?agentId=${agentId}`}>All</ButtonLink>}
      >
        <SessionsOf
          of={{ agentId }}
          caption="Sessions of this agent"
          empty="It has no session yet."
          columns={[{ name: "User", cell: ({ userId }) => <UserLink userId={userId} /> }]}
        />
      </Section>
    </>
  );
}
