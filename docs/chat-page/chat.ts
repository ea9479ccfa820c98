/** How the page speaks to Parley through `server.ts`, with the session in the page's address. */
import { ParleyChat } from "parley/use-chat";

export { canGoOn } from "parley/use-chat";

/** `server.ts` stands for the agent, and adds the key. */
const agentUrl = `${window.location.origin}/chat`;
let onIdle = () => {};

const parley = new ParleyChat({
  agentUrl,
  // The session's id stands behind the # of the page's address, so that a reload, or a bookmark, finds it.
  sessionUrl: window.location.hash === "" ? null : `${agentUrl}/sessions/${window.location.hash.slice(1)}`,
  onSession: (url) => window.history.replaceState(null, "", `#${url.split("/").at(-1)}`),
  onIdle: () => onIdle(),
});

export const { transport } = parley;

/** What was said before the page was loaded; `null` when there is no session yet. */
export const load = () => parley.load();

/** Has `read` called when the page joins and nothing runs: an answer may have ended since its messages were read. */
export function whenIdle(read: () => void): void {
  onIdle = read;
}
