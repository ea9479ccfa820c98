import { Route, Switch } from "wouter";
import { AgentSkillPage } from "./agent-skill-page.tsx";
import { LibrarySkillPage } from "./library-skill-page.tsx";
import { SkillOverview } from "./skill-overview.tsx";

/** The skills of agents, and the library that their skills may come from. */
export default function Skills() {
  return (
    <Switch>
      <Route path="/skills/library/:skillId">
        {({ skillId }) => <LibrarySkillPage key={skillId} skillId={skillId} />}
      </Route>
      <Route path="/skills/:agentId/:skillId">
        {({ agentId, skillId }) => <AgentSkillPage key={skillId} agentId={agentId} skillId={skillId} />}
      </Route>
      <Route>
        <SkillOverview />
      </Route>
    </Switch>
  );
}
