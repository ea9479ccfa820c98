/**
 * The pages of the console, `/console`. "The console's pages" in docs/architecture.md says how
 * a screen is made; `screens.ts` has one line for each.
 */
import { createRoot } from "react-dom/client";
import { signInByLink } from "./api/session.ts";
import { ConsoleApp } from "./shell/app.tsx";
import { loadScreenAt } from "./shell/screen-place.tsx";

// The playground's chat checks chunks with zod, which tries whether code can be made of texts. The page's
// Content-Security-Policy forbids that, and Firefox would say so in its log: zod asks this before it tries.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });
loadScreenAt(window.location.pathname);
signInByLink();
createRoot(document.getElementById("page") as HTMLElement).render(<ConsoleApp />);
