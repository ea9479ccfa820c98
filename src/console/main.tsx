/**
 * The pages of the console, `/console`. "The console's pages" in docs/architecture.md says how
 * a screen is made; `screens.ts` has one line for each.
 */
import { createRoot } from "react-dom/client";
import { signInByLink } from "./api/session.ts";
import { ConsoleApp } from "./shell/app.tsx";
import { loadScreenAt } from "./shell/screen-place.tsx";

loadScreenAt(window.location.pathname);
signInByLink();
createRoot(document.getElementById("page") as HTMLElement).render(<ConsoleApp />);
