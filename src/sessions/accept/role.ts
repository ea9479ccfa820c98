import type { AccessRole } from "../../kernel/auth/roles.ts";

/** The least role that accepts turns; the accepting statement itself asks for it where the key was not looked up before. */
export const acceptRole = "runner" satisfies AccessRole;
