import { Route, Switch } from "wouter";
import { NewTaskPage } from "./new-task.tsx";
import { TaskOverview } from "./task-overview.tsx";
import { TaskPage } from "./task-page.tsx";

/** The tasks of the tenant, each one's page, and the page that makes one. */
export default function Tasks() {
  return (
    <Switch>
      <Route path="/tasks/new">
        <NewTaskPage />
      </Route>
      <Route path="/tasks/:taskId">{({ taskId }) => <TaskPage key={taskId} taskId={taskId} />}</Route>
      <Route>
        <TaskOverview />
      </Route>
    </Switch>
  );
}
