import { useFilters } from "../api/filters.ts";
import { UserList } from "./user-list.tsx";
import { UserPage } from "./user-page.tsx";

/** The end users, and each one's page. An id may hold any sign, so it stands in the address's query. */
export default function Users() {
  const [{ id }] = useFilters("id");
  return id === undefined ? <UserList /> : <UserPage key={id} userId={id} />;
}
