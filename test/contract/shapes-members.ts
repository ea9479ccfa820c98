import type { Fields } from "./notation.ts";

/** What is shown of members. */
export const memberShapes: Readonly<Record<string, Fields>> = {
  Member: {
    id: "mbr_",
    email: "text",
    name: "text?",
    role: "=reader,approver,runner,editor,admin?",
    groupRole: "=reader,approver,runner,editor,admin?",
    invitedUntil: "time?",
    lastSignInAt: "time?",
    createdAt: "time",
    updatedAt: "time",
  },
  MemberPage: { data: "[#Member]", nextCursor: "text?" },
};
